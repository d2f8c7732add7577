package session_test

import (
	"testing"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) session.Store { return session.NewMemoryStore() })
}
