package harness

import (
	"encoding/json"
	"slices"
)

// ToolServerName is what agents call our tool server.
const ToolServerName = "conform"

// ToolServer says how an agent reaches our MCP server.
type ToolServer struct {
	// Command starts a server that speaks over stdin and stdout.
	Command []string
	// Env is added to the environment of that command.
	Env []string
	// URL is that of a server over HTTP, "" where there is none.
	URL string
	// Log is the file in which the server notes each call that it gets, "" for none.
	Log string
}

// Argv is the command of the server with its variables in front, so that no agent has to
// pass them on. The slice is the caller's.
func (t ToolServer) Argv() []string {
	if len(t.Env) == 0 {
		return slices.Clone(t.Command)
	}
	return slices.Concat([]string{"env"}, t.Env, t.Command)
}

// ConfigFile is the content of a file in which many agents read of MCP servers:
// {"mcpServers": {NAME: …}}.
func (t ToolServer) ConfigFile() string {
	server := map[string]any{"type": "http", "url": t.URL}
	if argv := t.Argv(); len(argv) > 0 {
		server = map[string]any{"type": "stdio", "command": argv[0], "args": argv[1:]}
	}
	out, err := json.Marshal(map[string]any{"mcpServers": map[string]any{ToolServerName: server}})
	if err != nil {
		panic(err) // of strings, lists and maps
	}
	return string(out)
}
