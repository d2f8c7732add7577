package rkat

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/internal/app/version"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/tool"
)

// toolbox is what a run offers: tools of its own and those of MCP servers,
// under the policy of the configuration.
type toolbox struct {
	tool.Dispatcher // nil: no tools
	router          *mcp.Router
}

func (t *toolbox) close() {
	if t.router != nil {
		t.router.Close()
	}
}

// openTools starts the servers. Whoever gets a toolbox closes it.
func (a *app) openTools(ctx context.Context, cfg *config.Loaded, o *options, client *http.Client) (*toolbox, error) {
	servers, err := a.servers(cfg, o)
	if err != nil {
		return nil, err
	}
	t := &toolbox{}
	var all []tool.Dispatcher
	if own := o.ownTools(); own != nil {
		registry, err := tool.New(own...)
		if err != nil {
			return nil, err
		}
		all = append(all, registry)
	}
	if len(servers) > 0 {
		t.router, err = mcp.Open(ctx, servers, mcp.Options{Environ: a.variables, Log: a.log(), HTTPClient: client, Version: version.String()})
		if err != nil {
			return nil, err
		}
		a.tellServers(t.router)
		all = append(all, t.router)
	}
	if all == nil {
		return t, nil
	}
	if t.Dispatcher, err = restricted(cfg, all); err != nil {
		t.close()
		return nil, usageError{err}
	}
	return t, nil
}

// restricted joins the tools and narrows them down.
func restricted(cfg *config.Loaded, all []tool.Dispatcher) (tool.Dispatcher, error) {
	joined, err := tool.Join(all...)
	if err != nil {
		return nil, err
	}
	return tool.Restrict(joined, policyOf(cfg))
}

func policyOf(cfg *config.Loaded) tool.Policy {
	return tool.Policy{
		Allow: cfg.Tools.Allow, Deny: cfg.Tools.Deny, Timeout: cfg.Tools.DefaultTimeout, Timeouts: cfg.Tools.ToolTimeouts,
	}
}

// ownTools are those of this program.
func (o *options) ownTools() []tool.Tool {
	switch {
	case o.conform:
		return conformTools()
	case o.demo:
		return demoTools()
	}
	return nil
}

// tellServers says what of the servers is not on offer.
func (a *app) tellServers(r *mcp.Router) {
	for _, p := range r.Problems() {
		name := "mcp server " + p.Server
		if p.Tool != "" {
			name += ": tool " + p.Tool
		}
		a.note("%s: not on offer: %s", name, strings.Join(strings.Fields(p.Why), " "))
	}
}

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
