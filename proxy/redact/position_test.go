package redact

import (
	"strings"
	"testing"
)

// Where the structure of a request says that a credential stands, any value is replaced: letters
// only, a word, a key.
func TestPositionsHoldForAnyValue(t *testing.T) {
	bodies := map[string]string{
		"headers of OpenAI's tool":  `{"tools":[{"type":"mcp","server_url":"https://x.example/mcp","headers":{"NAME":"VALUE"}}]}`,
		"headers of MCP servers":    `{"mcp_servers":[{"type":"url","name":"a","headers":{"NAME":"VALUE"}}]}`,
		"headers of Gemini's tool":  `{"tools":[{"mcpServers":[{"streamableHttpTransport":{"headers":{"NAME":"VALUE"}}}]}]}`,
		"environment of MCP server": `{"mcpServers":{"a":{"command":"npx","env":{"NAME":"VALUE"}}}}`,
		"environment of a tool":     `{"tools":[{"type":"function","name":"x","env":{"NAME":"VALUE"}}]}`,
		"pairs":                     `{"tools":[{"type":"mcp","headers":[{"name":"NAME","value":"VALUE"}]}]}`,
		"pairs of an environment":   `{"mcp_servers":[{"env":[{"name":"NAME","value":"VALUE"}]}]}`,
		"lists of values":           `{"tools":[{"type":"mcp","headers":{"NAME":["VALUE"]}}]}`,
		"lines of an environment":   `{"mcp_servers":[{"env":["NAME=VALUE"]}]}`,
		"lines of headers":          `{"mcp_servers":[{"headers":["NAME: VALUE"]}]}`,
	}
	for where, body := range bodies {
		for _, name := range []string{"X-Acme", "X-Acme-Key", "ACME", "ACME_LOGIN", "X-Api-Key", "X-Custom-Auth"} {
			for _, value := range []string{"QzKvBnMwLrTyPlKjHgFd", "qzkvbnmwlrty", "letmeinplease", "wombat"} {
				in := simple()
				in.Request.Body = []byte(strings.NewReplacer("NAME", name, "VALUE", value).Replace(body))
				if got := string(New([]byte("k")).Interaction(in).Request.Body); strings.Contains(got, value) || !strings.Contains(got, name) {
					t.Errorf("%s: became %s", where, got)
				}
			}
		}
	}
	for _, query := range []string{"key", "sessionid", "sessionId", "session_id", "sid"} {
		for _, value := range []string{"wombat", "qzkvbnmwlrty", "12345678"} {
			in := simple()
			in.Request.URL = "https://mcp.example/sse?a=1&" + query + "=" + value
			in.Request.Body = []byte(`{"tools":[{"type":"mcp","server_url":"` + in.Request.URL + `"}],"input":"wombat 12345678 qzkvbnmwlrty"}`)
			out := New([]byte("k")).Interaction(in).Request
			if strings.Contains(out.URL, value) || strings.Contains(string(out.Body), "="+value) || !strings.Contains(string(out.Body), "wombat 12345678") {
				t.Errorf("?%s=%s: became %s\n%s", query, value, out.URL, out.Body)
			}
		}
	}
}
