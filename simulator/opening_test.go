package simulator

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/specs"
)

// TestOpening: what a client puts before the first prompt takes up no turn of the scenario,
// as it does not for an agent of which nothing is known. Words that it does not answer there
// are a summary, in the place of prompts, and count.
func TestOpening(t *testing.T) {
	scenario, err := specs.ParseScenario("birds.txtar", []byte(`Two birds.
requirements: ORD-001
-- scenario.yaml --
title: two birds
providers:
  anthropic: {model: claude-opus-4-5}
  openai: {model: gpt-5.2}
  gemini: {model: gemini-3-flash-preview}
player:
  - prompt: Name a bird.
  - resume: And another one.
turns:
  - emit: [{text: A heron.}]
  - emit: [{text: A wren.}]
  - prompts: 3
    emit: [{text: A robin.}]
`))
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]struct{ path, head, user, model, tail string }{
		"anthropic": {"/v1/messages", `{"model":"claude-opus-4-5","max_tokens":9,"messages":[`,
			`{"role":"user","content":"TEXT"}`, `{"role":"assistant","content":"TEXT"}`, `]}`},
		"openai": {"/v1/responses", `{"model":"gpt-5.2","input":[`, `{"role":"user","content":"TEXT"}`,
			`{"role":"assistant","content":"TEXT"}`, `]}`},
		"gemini": {"/v1beta/models/gemini-3-flash-preview:generateContent", `{"contents":[`,
			`{"role":"user","parts":[{"text":"TEXT"}]}`, `{"role":"model","parts":[{"text":"TEXT"}]}`, `]}`},
	}
	for provider, form := range forms {
		for name, c := range map[string]struct {
			said []string // by turns, the user begins; "" is nothing
			want string
		}{
			"no opening": {[]string{"Name a bird."}, "A heron."},
			"an opening": {[]string{"Today is Monday.", "Understood.", "Name a bird."}, "A heron."},
			"two openings": {[]string{"Today is Monday.", "Understood.", "Be brief.", "Yes.",
				"Name a bird."}, "A heron."},
			"an opening by the model": {[]string{"", "What can I do?", "Name a bird."}, "A heron."},
			"an opening, the next one": {[]string{"Today is Monday.", "Understood.", "Name a bird.", "A heron.",
				"And another one."}, "A wren."},
			"words without an answer": {[]string{"Left out here.", "", "Name a bird.", "A heron.", "And another one."},
				"A robin."},
			"a prompt that is unknown": {[]string{"Name a fish.", "A carp.", "And another one."}, "A wren."},
		} {
			if provider == "anthropic" && c.said[0] == "" {
				continue // the user has to begin there
			}
			var messages []string
			for i, text := range c.said {
				if text != "" {
					messages = append(messages, strings.Replace([]string{form.user, form.model}[i%2], "TEXT", text, 1))
				}
			}
			r := httptest.NewRequest(http.MethodPost, form.path,
				strings.NewReader(form.head+strings.Join(messages, ",")+form.tail))
			r.Header = http.Header{"X-Api-Key": {"test"}, "Authorization": {"Bearer test"}, "X-Goog-Api-Key": {"test"},
				"Anthropic-Version": {"2023-06-01"}, "Content-Type": {"application/json"}}
			w := httptest.NewRecorder()
			New(Config{Scenario: scenario, Seed: "birds"}).ServeHTTP(w, r)
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("%s, %s: status %d %s; want %q", provider, name, w.Code, w.Body, c.want)
			}
		}
	}
}
