package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/spelling"
)

// adviceFor names the known name that a misspelt one probably means.
func adviceFor(name string, known []string, otherwise string) string {
	if meant := spelling.Nearest(name, known); meant != "" {
		return "did you mean " + meant + "?"
	}
	return otherwise
}

// serverMembers are the members of an MCP server that have a meaning here.
var serverMembers = []string{
	"name", "command", "args", "env", "cwd", "dir", "url", "headers", "timeout", "startTimeout", "start_timeout",
	"allow", "deny", "optional", "protocol", "type", "disabled",
}

// otherClients are members of other clients that change nothing about the server.
var otherClients = []string{
	"transport", "transportType", "description", "comment", "autoApprove", "alwaysAllow", "autoStart", "icon",
	"version",
	"trust", "enabled", "gallery", "metadata", "note", "dev", "tags", "title", "$schema",
}

// checkServerMembers refuses members of a server that nothing here understands.
func checkServerMembers(v any) error {
	server, ok := v.(map[string]any)
	if !ok {
		return nil // decoding says what is wrong
	}
	for _, member := range sortedKeys(server) {
		isKnown := slices.ContainsFunc(serverMembers, func(k string) bool { return strings.EqualFold(k, member) })
		if !isKnown && !slices.Contains(otherClients, member) {
			return fmt.Errorf("%q: unknown member; %s", member, adviceFor(member, serverMembers, "take it out"))
		}
	}
	return nil
}

// isDisabled reports whether another client would not start the server, and checks its
// type.
func isDisabled(v any) (bool, error) {
	server, _ := v.(map[string]any)
	types := []string{"stdio", "http", "streamable-http", "streamableHttp", "streamable_http"}
	if kind, isText := server["type"].(string); isText && !slices.Contains(types, kind) {
		return false, fmt.Errorf("type %q is not supported; use stdio or http%s", kind, spelling.Hint(kind, types))
	}
	return server["disabled"] == true || server["enabled"] == false, nil
}
