package redact

import (
	"fmt"
	"net/http"
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
				if got := string(New([]byte("k")).Interaction(in).Request.Body); strings.Contains(got, value) ||
					!strings.Contains(got, name) {
					t.Errorf("%s: became %s", where, got)
				}
			}
		}
	}
	for _, query := range []string{"key", "sessionid", "sessionId", "session_id", "sid"} {
		for _, value := range []string{"wombat", "qzkvbnmwlrty", "12345678"} {
			in := simple()
			in.Request.URL = "https://mcp.example/sse?a=1&" + query + "=" + value
			in.Request.Body = []byte(`{"tools":[{"type":"mcp","server_url":"` + in.Request.URL +
				`"}],"input":"wombat 12345678 qzkvbnmwlrty"}`)
			out := New([]byte("k")).Interaction(in).Request
			if strings.Contains(out.URL, value) || strings.Contains(string(out.Body), "="+value) ||
				!strings.Contains(string(out.Body), "wombat 12345678") {
				t.Errorf("?%s=%s: became %s\n%s", query, value, out.URL, out.Body)
			}
		}
	}
}

// A known secret that a stream cuts into pieces is found whatever the order of the members: the number
// of a stream may stand before or behind its text, and two streams may alternate.
func TestPiecesWhateverTheOrderOfMembers(t *testing.T) {
	const secret = "9fGh2kLm4nPq6rSt8vWx0zAb"
	shapes := map[string]func(stream int, text string) string{
		"index before": func(n int, s string) string { return fmt.Sprintf(`{"index":%d,"delta":{"text":"%s"}}`, n, s) },
		"index behind": func(n int, s string) string { return fmt.Sprintf(`{"delta":{"text":"%s"},"index":%d}`, s, n) },
		"index beside": func(n int, s string) string { return fmt.Sprintf(`{"delta":{"text":"%s","index":%d}}`, s, n) },
		"two, in turns": func(n int, s string) string {
			return fmt.Sprintf(`{"delta":"%s","output_index":%d,"content_index":0}`, s, n)
		},
		"two, mixed": func(n int, s string) string {
			if len(s)%2 == 0 {
				return fmt.Sprintf(`{"content_index":0,"delta":"%s","output_index":%d}`, s, n)
			}
			return fmt.Sprintf(`{"output_index":%d,"delta":"%s","content_index":0}`, n, s)
		},
		"choices": func(n int, s string) string {
			return fmt.Sprintf(`{"choices":[{"delta":{"content":"%s"},"index":%d}],"n":1}`, s, n)
		},
		"parts of candidates": func(n int, s string) string {
			return fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"text":"%s"}]},"index":%d}],"index":0}`, s, n)
		},
	}
	for name, event := range shapes {
		var body strings.Builder
		for i := 0; i < len(secret); i += 3 {
			fmt.Fprintf(&body, "data: %s\n\ndata: %s\n\n", event(0, secret[i:i+3-i%2]), event(1, "so"))
			if i%2 == 1 {
				fmt.Fprintf(&body, "data: %s\n\n", event(0, secret[i+2:i+3]))
			}
		}
		in := simple()
		in.Response.Header = http.Header{"Content-Type": {"text/event-stream"}}
		in.Response.Body = []byte(body.String())
		r := New([]byte("k"))
		r.Learn(secret)
		if got := string(r.Interaction(in).Response.Body); strings.Contains(got, `"`+secret[:3]) ||
			strings.Contains(got, secret[6:9]) || strings.Count(got, `"so"`) != len(secret)/3 {
			t.Errorf("%s: became\n%s", name, got)
		}
	}
}
