package server_test

import (
	"testing"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/server/backendtest"
)

// TestLocal holds the backend of one process to the contract.
func TestLocal(t *testing.T) {
	backendtest.Run(t, func(_ *testing.T, execute server.Execute, limits server.BackendLimits) server.Backend {
		return server.NewLocal(execute, server.LocalOptions{BackendLimits: limits})
	})
}
