package signature_test

import (
	"testing"

	"github.com/meerkat-go/conformance/suites"
	"github.com/meerkat-go/conformance/suites/signature"
)

func TestMain(m *testing.M) { suites.Main(m) }

func TestSpecs(t *testing.T) { suites.Test(t, signature.Register) }
