package harness

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// ownKey is a key that no family of keys has, so it is known by its value alone.
const ownKey = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"

// realLooking is made here, so that no file holds what looks like a key.
var realLooking = "sk-ant-" + "api03-" + strings.Repeat("Ab1", 12)

func TestMisplacedKey(t *testing.T) {
	claims := func(text string) string {
		enc := base64.RawURLEncoding.EncodeToString
		return "Bearer " + enc([]byte(`{"alg":"RS256"}`)) + "." + enc([]byte(text)) + "." + strings.Repeat("s", 40)
	}
	for _, tt := range []struct {
		name, url, header, value, want string
	}{
		{"made up", "https://api.anthropic.com/v1/messages", "X-Api-Key", "conform-made-up-key-anthropic", ""},
		{"made up, in the query",
			"https://generativelanguage.googleapis.com/v1beta/models/g:generateContent?key=conform-made-up-key-gemini",
			"", "", ""},
		{"no key", "https://api.openai.com/v1/responses", "", "", ""},
		{"made-up login", "https://api.openai.com/v1/responses", "Authorization",
			claims(`{"sub":"made-up user of a test"}`), ""},
		{"login", "https://api.openai.com/v1/responses", "Authorization",
			claims(`{"sub":"user-7f2a","aud":"https://api"}`), "what looks like a signed token"},
		{"real", "https://api.anthropic.com/v1/messages", "X-Api-Key", realLooking,
			"what looks like an Anthropic key to api.anthropic.com"},
		{"real, elsewhere", "https://api.openai.com/v1/responses", "X-Trace", "a," + realLooking,
			"what looks like an Anthropic key to api.openai.com"},
		{"real, in the query", "https://generativelanguage.googleapis.com/v1?key=" + realLooking, "", "",
			"what looks like"},
		{"the user's", "https://api.openai.com/v1/responses", "Authorization", "Bearer " + ownKey,
			"a key of yours to api.openai.com"},
		{"the user's, encoded", "https://api.openai.com/v1/responses", "X-Trace",
			base64.StdEncoding.EncodeToString([]byte("user:" + ownKey)), "a key of yours"},
		{"of another provider", "https://api.openai.com/v1/responses", "X-Api-Key", "conform-made-up-key-anthropic",
			"the key of anthropic to api.openai.com"},
		{"of another provider, in the query", "https://api.anthropic.com/v1/messages?key=conform-made-up-key-gemini",
			"", "", "the key of gemini to api.anthropic.com"},
	} {
		r := httptest.NewRequest(http.MethodPost, tt.url, strings.NewReader("{}"))
		if tt.header != "" {
			r.Header.Set(tt.header, tt.value)
		}
		got := newGuard([]string{ownKey}).misplacedKey(r)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if strings.Contains(got, ownKey) || strings.Contains(got, realLooking) {
			t.Errorf("%s: quotes the key", tt.name)
		}
	}
}

// A guard refuses the request, ends the run once, and keeps the first reason.
func TestGuardTrips(t *testing.T) {
	g := newGuard(nil)
	ctx, release := g.attachContext(t.Context())
	defer release()
	passed := 0
	h := g.checkKeys("case", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed++ }))
	ask := func(key string) int {
		r := httptest.NewRequest(http.MethodPost, "https://api.anthropic.com/v1/messages", strings.NewReader("{}"))
		r.Header.Set("X-Api-Key", key)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	if code := ask("conform-made-up-key-anthropic"); code != http.StatusOK || passed != 1 || g.trippedErr() != nil ||
		ctx.Err() != nil {
		t.Errorf("a made-up key: %d, %d passed, %v", code, passed, g.trippedErr())
	}
	if code := ask(realLooking); code != http.StatusForbidden || passed != 1 || g.trippedErr() == nil {
		t.Errorf("a real key: %d, %d passed, %v", code, passed, g.trippedErr())
	}
	<-ctx.Done()
	first := g.trippedErr().Error()
	g.endRun(&GuardError{"later"})
	if g.trippedErr().Error() != first || !strings.HasPrefix(first, "case: the agent sent") {
		t.Errorf("%v", g.trippedErr())
	}
}
