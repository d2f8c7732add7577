package rkat

import (
	"slices"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/mcp"
)

// mcpServers returns the servers of --mcp and of the configuration. If two have
// one name, that of --mcp counts. A demonstration starts only those of --mcp.
func (a *app) mcpServers(cfg *config.Loaded, o *options) ([]mcp.Server, error) {
	given, err := a.readMCPFile(o.mcpFile)
	if err != nil || o.demo {
		return given, err
	}
	for _, s := range cfg.MCPServers {
		if !slices.ContainsFunc(given, func(g mcp.Server) bool { return g.Name == s.Name }) {
			given = append(given, s)
		}
	}
	return given, nil
}

func (a *app) readMCPFile(path string) ([]mcp.Server, error) {
	if path == "" {
		return nil, nil
	}
	text, err := readText("--mcp", path)
	if err != nil {
		return nil, err
	}
	servers, err := config.ReadMCPServers([]byte(text), a.env)
	if err != nil {
		return nil, cli.Usage("--mcp %s: %w", path, err)
	}
	return servers, nil
}
