package config_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/mcp"
)

// TestReadMCPServers reads every member, ignores those of other clients and orders
// the servers by name.
func TestReadMCPServers(t *testing.T) {
	got, err := config.ReadMCPServers([]byte(`{"mcpServers": {
		"web": {"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
		"files": {"command": "npx", "args": ["-y"], "env": {"K": "$${TOKEN}"}, "cwd": "/", "timeout": "3s", "startTimeout": "4s",
			"allow": ["a"], "deny": ["b"], "optional": true, "name": "other"}}}`), map[string]string{"TOKEN": "x"})
	want := []mcp.Server{
		{
			Name: "files", Command: "npx", Args: []string{"-y"}, Env: map[string]string{"K": "${TOKEN}"}, Dir: "/",
			Timeout: 3 * time.Second, StartTimeout: 4 * time.Second, Allow: []string{"a"}, Deny: []string{"b"},
			Optional: true,
		},
		{Name: "web", URL: "https://h/mcp", Headers: map[string]string{"Authorization": "Bearer x"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for content, want := range map[string]string{
		`[]`:                                    "it is not JSON of the form",
		`{"mcpServers": {}}`:                    "it names no server",
		`{"mcpServers": {"s": {"timeout": 3}}}`: "server s: ",
		`{"mcpServers": {"s": {"timeout": "canary"}}}`:  "it is not a duration",
		`{"mcpServers": {"s": {"env": {"A": 1}}}}`:      "server s: ",
		`{"mcpServers": {"s": {"command": "${NONE}"}}}`: "server s: the variable NONE is not set",
		`{"mcpServers": {"s": {"args": "canary"}}}`:     "server s: ",
	} {
		if _, err := config.ReadMCPServers([]byte(content), nil); err == nil ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v; want %q", content, err, want)
		}
	}
}

func FuzzReadMCPServers(f *testing.F) {
	f.Add([]byte(`{"mcpServers":{"a":{"command":"npx","args":["-y"],"env":{"K":"${HOME}"},"timeout":"3s"}}}`))
	f.Add([]byte(`{"mcpServers":{"a":{"url":"https://h/mcp","headers":{"Authorization":"Bearer $${X}"}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := config.ReadMCPServers(data, map[string]string{"HOME": "/h"})
		if err == nil && (len(list) == 0 || !json.Valid(data)) {
			t.Errorf("%q: %+v", data, list)
		}
	})
}
