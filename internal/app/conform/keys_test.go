package conform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoKeyIsQuoted holds that no output of check and lint holds a well-known key, whatever member of
// a recording has it: findings quote what they are about, whole or cut.
func TestNoKeyIsQuoted(t *testing.T) {
	t.Chdir(t.TempDir())
	const request = `{"model":"MODEL","max_tokens":64,"system":9,"MEMBER":1,"tools":[{"name":"TOOL","input_schema":{"type":"object"}},{"name":"TOOL","input_schema":{"type":"object"}}],
"messages":[{"role":"ROLE","content":"Read it."},{"role":"assistant","content":[{"type":"tool_use","id":"CALL","name":"ls","input":{"path":"ARGS"}}]},{"role":"user","content":"Go on."}]}`
	words := `{"type":"error","error":{"type":"invalid_request_error","message":"no WORDS here"}}`
	for _, place := range []string{"MODEL", "MEMBER", "TOOL", "ROLE", "CALL", "ARGS", "WORDS", "AGENT", "PATH",
		"VERSION"} {
		key := "sk-ant-api03-" + strings.Repeat("Ab9xQ", 19)
		put := func(text string) string { return strings.ReplaceAll(text, place, key) }
		body, answer := put(request), put(words)
		version, path := strings.ReplaceAll(put("VERSION"), "VERSION", "1.2"), put("/v1/messages/PATH")
		if place != "PATH" {
			path = "/v1/messages"
		}
		har, err := json.Marshal(map[string]any{"log": map[string]any{"version": version,
			"creator": map[string]any{"name": "x", "version": "1"}, "entries": []any{map[string]any{
				"startedDateTime": "2026-11-01T10:00:00Z", "time": 1,
				"request": map[string]any{"method": "POST", "url": "https://api.anthropic.com" + path,
					"httpVersion": "HTTP/1.1", "cookies": []any{}, "queryString": []any{}, "headersSize": -1,
					"bodySize": -1,
					"headers": []any{
						map[string]any{"name": "user-agent", "value": put("my-agent AGENT")},
						map[string]any{"name": "content-type", "value": "application/json"},
					},
					"postData": map[string]any{"mimeType": "application/json", "text": body}},
				"response": map[string]any{"status": 400, "statusText": "", "httpVersion": "HTTP/1.1",
					"cookies":     []any{},
					"headersSize": -1, "bodySize": -1, "redirectURL": "",
					"headers": []any{map[string]any{"name": "content-type", "value": "application/json"}},
					"content": map[string]any{"mimeType": "application/json", "size": len(answer), "text": answer}},
				"cache": map[string]any{}, "timings": map[string]any{"send": 0, "wait": 1, "receive": 0},
			}}}})
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{"a.har": har, "request.json": []byte(body)} {
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		for _, args := range []string{"check a.har", "check --json a.har", "check --side server a.har",
			"check -q --report junit=j.xml,markdown=m.md,github=g.txt a.har", "lint request request.json"} {
			fmt.Fprintf(&out, "%s: exit %d\n", args, Run(t.Context(), strings.Fields(args), nil, &out, &out, nil))
		}
		for _, file := range []string{"j.xml", "m.md", "g.txt"} {
			text, err := os.ReadFile(filepath.Clean(file))
			if err != nil {
				t.Fatal(err)
			}
			out.Write(text)
		}
		for i := len("sk-ant-api03-"); i+12 <= len(key); i += 5 {
			if at := bytes.Index(out.Bytes(), []byte(key[i:i+12])); at >= 0 {
				t.Errorf("%s: %q", place, out.Bytes()[max(0, at-100):min(out.Len(), at+60)])
				break
			}
		}
	}
}
