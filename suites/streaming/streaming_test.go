package streaming_test

import (
	"testing"

	"github.com/meerkat-go/conformance/suites"
	"github.com/meerkat-go/conformance/suites/streaming"
)

func TestMain(m *testing.M) { suites.Main(m) }

func TestSpecs(t *testing.T) { suites.Test(t, streaming.Register) }
