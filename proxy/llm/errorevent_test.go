package llm

import (
	"strings"
	"testing"
)

// Every provider's error event ends its stream, says the status in the
// provider's words, and is one line.
func TestErrorEvent(t *testing.T) {
	for _, tt := range []struct {
		provider, name string
		status         int
		want           string
	}{
		{"anthropic", "error", 529, `{"error":{"message":"<no>","type":"overloaded_error"},"type":"error"}`},
		{"openai", "error", 429,
			`{"error":{"code":"rate_limit_exceeded","message":"<no>","param":null,"type":"requests"},"type":"error"}`},
		{"gemini", "", 503, `{"error":{"code":503,"message":"<no>","status":"UNAVAILABLE"}}`},
		{"", "", 500, `{"error":{"message":"<no>"}}`},
	} {
		name, data := ErrorEvent(tt.provider, tt.status, "<no>")
		if name != tt.name || string(data) != tt.want {
			t.Errorf("%s: %q %s, want %q %s", tt.provider, name, data, tt.name, tt.want)
		}
		if tt.provider != "" && !IsComplete(tt.provider, sse, []byte("data: "+string(data)+"\n\n")) {
			t.Errorf("%s: %s ends no stream", tt.provider, data)
		}
	}
}

// A ping is a whole frame, and says nothing that a reader would take for text.
func TestPing(t *testing.T) {
	for _, provider := range []string{"anthropic", "openai", "gemini"} {
		for _, newline := range []string{"\n", "\r\n"} {
			ping := Ping(provider, newline)
			for f := range Frames(sse, ping) {
				if !f.Whole || f.End != len(ping) || IsTerminalEvent(provider, f.Data) {
					t.Errorf("%s: %q is frame %+v", provider, ping, f)
				}
				if f.Data != nil && (provider != "anthropic" || f.Name != "ping" || typeOf(f.Data) != "ping") {
					t.Errorf("%s: %q carries %s", provider, ping, f.Data)
				}
			}
			if !strings.HasSuffix(string(ping), newline+newline) {
				t.Errorf("%q is not ended by %q", ping, newline)
			}
		}
	}
}
