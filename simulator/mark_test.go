package simulator

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/specs"
)

// Every reply says that no provider gave it, refusals too.
func TestMark(t *testing.T) {
	all, err := specs.Simulated()
	if err != nil {
		t.Fatal(err)
	}
	scripted := all[slices.IndexFunc(all, func(s *specs.Scenario) bool { return s.Name == "overloaded" })]
	for name, c := range map[string]struct {
		config     Config
		path, body string
		want       string
	}{
		"a reply": {Config{}, "/v1/messages",
			`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`, markSimulated},
		"a refusal":    {Config{}, "/v1/messages", `{}`, markSimulated},
		"no such path": {Config{}, "/nowhere", `{}`, markSimulated},
		"a scripted no": {Config{Scenario: scripted}, "/v1/messages",
			`{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"Say ok."}]}`,
			markInjected},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(c.body))
		r.Header = http.Header{"X-Api-Key": {"test"}, "Anthropic-Version": {"2023-06-01"},
			"Content-Type": {"application/json"}}
		New(c.config).ServeHTTP(w, r)
		if got := w.Header().Values(Mark); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: status %d, mark %q, want %q", name, w.Code, got, c.want)
		}
	}
}
