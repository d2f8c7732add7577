package rkat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/mcp"
)

// servers are those of --mcp and of the configuration; of two with one name
// that of --mcp counts. A demonstration starts only what it is told to.
func (a *app) servers(cfg *config.Loaded, o *options) ([]mcp.Server, error) {
	given, err := readServers(o.mcpFile, a.env)
	if err != nil {
		return nil, err
	}
	if o.demo {
		return given, nil
	}
	for _, s := range cfg.Tools.MCPServers {
		if !slices.ContainsFunc(given, func(g mcp.Server) bool { return g.Name == s.Name }) {
			given = append(given, mcp.Server{
				Name: s.Name, Command: s.Command, Args: s.Args, Env: s.Env, Dir: s.Dir,
				URL: s.URL, Headers: s.Headers, Timeout: s.Timeout, StartTimeout: s.StartTimeout,
				Allow: s.Allow, Deny: s.Deny, Optional: s.Optional, Protocol: s.Protocol,
			})
		}
	}
	return given, nil
}

// readServers reads the form that most MCP clients keep their servers in:
// {"mcpServers": {NAME: {"command", "args", "env", "url", "headers"}}}.
// ${VARIABLE} in a value is replaced.
func readServers(path string, env environ) ([]mcp.Server, error) {
	if path == "" {
		return nil, nil
	}
	text, err := readText("--mcp", path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		return nil, usage("--mcp %s: it is not JSON of the form {\"mcpServers\": {…}}: %w", path, err)
	}
	if len(file.Servers) == 0 {
		return nil, usage("--mcp %s: it names no server; write {\"mcpServers\": {NAME: {\"command\": …}}}", path)
	}
	var list []mcp.Server
	for name, raw := range file.Servers {
		s, err := readServer(name, raw, env)
		if err != nil {
			return nil, usage("--mcp %s: server %s: %w", path, name, err)
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(x, y mcp.Server) int { return strings.Compare(x.Name, y.Name) })
	return list, nil
}

func readServer(name string, raw json.RawMessage, env environ) (mcp.Server, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return mcp.Server{}, err
	}
	v, err := config.Expand(v, env)
	if err != nil {
		return mcp.Server{}, err
	}
	if raw, err = json.Marshal(v); err != nil {
		return mcp.Server{}, err
	}
	// Members of other clients, such as "type", are theirs.
	var s struct {
		Command     string            `json:"command"`
		Args        []string          `json:"args"`
		Env         map[string]string `json:"env"`
		Dir         string            `json:"cwd"`
		URL         string            `json:"url"`
		Headers     map[string]string `json:"headers"`
		Timeout     string            `json:"timeout"`      // of each call
		Start       string            `json:"startTimeout"` // of its start
		Allow, Deny []string
		Optional    bool `json:"optional"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return mcp.Server{}, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	out := mcp.Server{
		Name: name, Command: s.Command, Args: s.Args, Env: s.Env, Dir: s.Dir, URL: s.URL,
		Headers: s.Headers, Allow: s.Allow, Deny: s.Deny, Optional: s.Optional,
	}
	if out.Timeout, err = duration(s.Timeout); err == nil {
		out.StartTimeout, err = duration(s.Start)
	}
	return out, err
}

func duration(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("timeout %s is not a duration; write it such as 30s", s)
	}
	return d, nil
}
