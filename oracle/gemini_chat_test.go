package oracle

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/meerkat-go/conformance/simulator"
)

// What genai's chats do with streams, and what comes of it. These are facts of the
// SDK; when one changes, its test tells.

// stream sends one prompt by the chat's own streaming and answers the calls.
func (f *flash) stream(t *testing.T, parts ...*genai.Part) ([]call, error) {
	t.Helper()
	var calls []call
	for r, err := range f.chat.SendStream(t.Context(), parts...) {
		if err != nil {
			return calls, err
		}
		for _, c := range r.FunctionCalls() {
			calls = append(calls, call{id: c.ID, name: strings.TrimPrefix(c.Name, "conform_")})
		}
	}
	return calls, nil
}

// TestGeminiChatSplitsCalls holds that a chat makes each chunk a content of its
// own. Calls side by side come in a chunk each and only the first is signed, so
// from Gemini 3 on the second looks like a step without a signature (rule G-17).
func TestGeminiChatSplitsCalls(t *testing.T) {
	f := newFlash(t, simulate(t, simulator.ListenConfig{Plain: true}, ""), true)
	calls, err := f.stream(t, genai.NewPartFromText("Call the tools."))
	if err != nil || len(calls) != 3 {
		t.Fatal(calls, err)
	}
	runTools(f, calls)
	_, err = f.stream(t, f.next...)
	var refused genai.APIError
	if !errors.As(err, &refused) || refused.Code != http.StatusBadRequest ||
		!strings.Contains(refused.Message, "missing a thought_signature") {
		t.Errorf("%v: the chat keeps calls together now", err)
	}
}

// TestGeminiChatForgets holds that a chat leaves a turn out of what it sends when
// a chunk has no candidate, as one that tells usage only.
func TestGeminiChatForgets(t *testing.T) {
	f := newFlash(t, greasedGemini(t, "usage_trailer"), true)
	if _, err := f.stream(t, genai.NewPartFromText("Call the tools.")); err != nil {
		t.Fatal(err)
	}
	if all, sent := f.chat.History(false), f.chat.History(true); len(all) < 2 || len(sent) != 0 {
		t.Errorf("the chat keeps %d contents and sends %d", len(all), len(sent))
	}
}

// TestGeminiEmptyText holds that the SDK writes a part with an empty text as one
// without data.
func TestGeminiEmptyText(t *testing.T) {
	if text, err := json.Marshal(genai.NewPartFromText("")); err != nil || string(text) != "{}" {
		t.Errorf("%s, %v", text, err)
	}
}
