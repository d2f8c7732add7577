package mcp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/meerkat/server/mcp"
)

// initialize begins an MCP session over HTTP, as clients do that never end one.
const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// sendMCP sends a message, in a session unless id is empty, and returns the status and the
// id of the session that it began.
func sendMCP(t *testing.T, url, method, id string) (status int, session string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(initialize))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if id != "" {
		r.Header.Set("Mcp-Session-Id", id)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, reply.Body)
	_ = reply.Body.Close()
	return reply.StatusCode, reply.Header.Get("Mcp-Session-Id")
}

// TestManyClients holds that clients that begin sessions and never end them do not take
// the memory of the server, and that one that ends makes room.
func TestManyClients(t *testing.T) {
	s := httptest.NewServer(mcp.NewHandler(sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)))
	t.Cleanup(s.Close)
	last := ""
	for i := range mcp.MaxClients {
		status, session := sendMCP(t, s.URL, http.MethodPost, "")
		if status != http.StatusOK || session == "" {
			t.Fatalf("client %d: status %d, session %q", i, status, session)
		}
		last = session
	}
	if status, _ := sendMCP(t, s.URL, http.MethodPost, ""); status != http.StatusServiceUnavailable {
		t.Errorf("one client more: status %d; want 503", status)
	}
	if status, _ := sendMCP(t, s.URL, http.MethodDelete, last); status != http.StatusNoContent {
		t.Errorf("ending a session: status %d", status)
	}
	if status, _ := sendMCP(t, s.URL, http.MethodPost, ""); status != http.StatusOK {
		t.Errorf("after one has ended: status %d; want 200", status)
	}
}
