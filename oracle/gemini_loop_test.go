package oracle

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/meerkat-go/conformance/simulator"
)

const geminiModel = "gemini-3.5-flash"

// flash talks to the simulator by genai: by its chats, which keep the history, or
// by streams, whose chunks it puts together to one content a turn, as Gemini asks.
type flash struct {
	t       *testing.T
	client  *genai.Client
	chat    *genai.Chat
	streams bool
	history []*genai.Content // of streams
	next    []*genai.Part    // what the user says next
}

func flashConfig() *genai.GenerateContentConfig {
	return &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText("Use the tools.", genai.RoleUser),
		ThinkingConfig:    &genai.ThinkingConfig{IncludeThoughts: true, ThinkingLevel: genai.ThinkingLevelHigh},
		Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{
			{Name: "conform_echo", Description: "Echoes.", Parameters: &genai.Schema{
				Type: genai.TypeObject, Properties: map[string]*genai.Schema{"text": {Type: genai.TypeString}},
				Required: []string{"text"}}},
			{Name: "conform_noargs", Description: "Answers.",
				ParametersJsonSchema: map[string]any{"type": "object", "properties": map[string]any{}}},
		}}},
	}
}

func newFlash(t *testing.T, w *link, streams bool) *flash {
	t.Helper()
	once := 0.01
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: "made-up", Backend: genai.BackendGeminiAPI, HTTPClient: w.client(),
		HTTPOptions: genai.HTTPOptions{BaseURL: w.address("gemini"),
			RetryOptions: &genai.HTTPRetryOptions{InitialDelay: &once}},
	})
	if err != nil {
		t.Fatal(err)
	}
	chat, err := client.Chats.Create(t.Context(), geminiModel, flashConfig(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &flash{t: t, client: client, chat: chat, streams: streams}
}

func (f *flash) prompt(text string) { f.next = append(f.next, genai.NewPartFromText(text)) }

func (f *flash) answer(to call, result string) {
	part := genai.NewPartFromFunctionResponse("conform_"+to.name, map[string]any{"output": result})
	part.FunctionResponse.ID = to.id
	f.next = append(f.next, part)
}

func (f *flash) alter() {
	for _, content := range slices.Concat(f.history, f.chat.History(false)) {
		for _, part := range content.Parts {
			if at := len(part.ThoughtSignature) / 2; at > 0 {
				part.ThoughtSignature[at] ^= 1
				return
			}
		}
	}
	f.t.Error("no signature in the history")
}

func (f *flash) ask() (said, error) {
	parts := f.next
	f.next = nil
	if !f.streams {
		r, err := f.chat.Send(f.t.Context(), parts...)
		if err != nil {
			return said{}, err
		}
		return heard(r.Candidates[0].Content)
	}
	f.history = append(f.history, genai.NewContentFromParts(parts, genai.RoleUser))
	turn := genai.NewContentFromParts(nil, genai.RoleModel)
	for r, err := range f.client.Models.GenerateContentStream(f.t.Context(), geminiModel, f.history, flashConfig()) {
		if err != nil {
			return said{}, err
		}
		if len(r.Candidates) > 0 && r.Candidates[0].Content != nil {
			turn.Parts = append(turn.Parts, r.Candidates[0].Content.Parts...)
		}
	}
	// genai writes a part with an empty text as one without data, which Gemini
	// refuses.
	turn.Parts = slices.DeleteFunc(turn.Parts, func(p *genai.Part) bool { return reflect.DeepEqual(p, &genai.Part{}) })
	f.history = append(f.history, turn)
	return heard(turn)
}

// heard is what a turn says; pieces of a text and thoughts that follow each other
// are one.
func heard(turn *genai.Content) (said, error) {
	var s said
	var blocks []Block
	for _, part := range turn.Parts {
		b, err := geminiBlock(part)
		if err != nil {
			return s, err
		}
		b.Token = ""
		blocks = appendGemini(blocks, b)
	}
	for _, b := range blocks {
		switch b.Kind {
		case "reasoning":
			s.thought()
		case "text":
			s.text(b.Text)
		case "tool_use":
			s.call(b.ID, b.Name, []byte(b.Args))
		}
	}
	return s, nil
}

func TestGeminiLoop(t *testing.T) {
	ways := map[string]func(*link) talker{}
	for name, streams := range map[string]bool{"stream": true, "unary": false} {
		ways[name] = func(w *link) talker { return newFlash(t, w, streams) }
	}
	loops(t, ways)
}

// TestGeminiRefusal holds that an altered signature is the SDK's typed error.
func TestGeminiRefusal(t *testing.T) {
	for _, streams := range []bool{true, false} {
		err := altered(t, newFlash(t, simulate(t, simulator.ListenConfig{Plain: true}, ""), streams))
		var refused genai.APIError
		if !errors.As(err, &refused) || refused.Code != http.StatusBadRequest || refused.Status != "INVALID_ARGUMENT" ||
			!strings.Contains(refused.Message, "hought signature") {
			t.Errorf("streams %t: %v", streams, err)
		}
	}
}

// TestGeminiSides counts tokens and lists models.
func TestGeminiSides(t *testing.T) {
	f := newFlash(t, simulate(t, simulator.ListenConfig{Plain: true}, ""), false)
	count, err := f.client.Models.CountTokens(t.Context(), geminiModel, genai.Text("Call the tools."), nil)
	if err != nil || count.TotalTokens < 1 {
		t.Errorf("%+v, %v", count, err)
	}
	var names []string
	for m, err := range f.client.Models.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, m.Name)
	}
	first, err := f.client.Models.List(t.Context(), &genai.ListModelsConfig{PageSize: 3})
	if err != nil || len(first.Items) != 3 || first.NextPageToken == "" ||
		!slices.Contains(names, "models/"+geminiModel) {
		t.Errorf("%+v, %v, %q", first, err, names)
	}
	second, err := first.Next(t.Context())
	if err != nil || len(second.Items) != 3 || second.Items[0].Name != names[3] {
		t.Errorf("%+v, %v", second, err)
	}
	one, err := f.client.Models.Get(t.Context(), geminiModel, nil)
	if err != nil || one.Name != "models/"+geminiModel || one.InputTokenLimit == 0 {
		t.Errorf("%+v, %v", one, err)
	}
	var missing genai.APIError
	if _, err = f.client.Models.Get(t.Context(), "gemini-0", nil); !errors.As(err, &missing) ||
		missing.Status != "NOT_FOUND" {
		t.Error(err)
	}
}

// TestGeminiRetry holds that the SDK, which retries only when it was told so,
// comes back.
func TestGeminiRetry(t *testing.T) {
	w := simulate(t, simulator.ListenConfig{Plain: true}, "    refuse: {kind: rate_limit, retry: seconds}\n")
	retried(t, w, newFlash(t, w, true), http.StatusTooManyRequests, 0)
}

// TestGeminiRateLimit holds that the SDK gives what a refusal says of the time to
// wait.
func TestGeminiRateLimit(t *testing.T) {
	f := newFlash(t, simulate(t, simulator.ListenConfig{Plain: true},
		"    refuse: {kind: rate_limit, retry: seconds, times: 9}\n"), false)
	_, err := f.client.Models.GenerateContent(t.Context(), geminiModel, genai.Text("Call the tools."), withoutRetries())
	var refused genai.APIError
	if !errors.As(err, &refused) || refused.Code != http.StatusTooManyRequests ||
		refused.Status != "RESOURCE_EXHAUSTED" || len(refused.Details) < 2 ||
		refused.Details[1]["retryDelay"] != "1s" {
		t.Errorf("%v %+v", err, refused.Details)
	}
}

func withoutRetries() *genai.GenerateContentConfig {
	one, config := int32(1), flashConfig()
	config.HTTPOptions = &genai.HTTPOptions{RetryOptions: &genai.HTTPRetryOptions{Attempts: &one}}
	return config
}

// TestGeminiFailure holds that an error in a stream is the SDK's typed error.
func TestGeminiFailure(t *testing.T) {
	f := newFlash(t, simulate(t, simulator.ListenConfig{Plain: true}, "    error: {kind: overloaded, after: 2}\n"),
		true)
	f.prompt("Call the tools.")
	_, err := f.ask()
	var failed genai.APIError
	if !errors.As(err, &failed) || failed.Status != "UNAVAILABLE" || failed.Code != http.StatusServiceUnavailable {
		t.Error(err)
	}
}

// TestGeminiGrease holds that unknown content does not disturb the SDK.
func TestGeminiGrease(t *testing.T) {
	for _, grease := range []string{"unknown_event, unknown_field", "leading_stop", "usage_trailer"} {
		t.Run(grease, func(t *testing.T) {
			f := newFlash(t, greasedGemini(t, grease), true)
			if seen := converse(t, f); !slices.Equal(seen, played) {
				t.Errorf("another conversation: %q", seen)
			}
		})
	}
}

func greasedGemini(t *testing.T, grease string) *link {
	t.Helper()
	return simulate(t, simulator.ListenConfig{Plain: true}, "    grease: ["+grease+"]\n", "anthropic", "openai", "chat")
}

// TestGeminiShape holds that the SDK knows all that a loop sends it: genai keeps
// no notes of what it reads, so each document is read again, strictly.
func TestGeminiShape(t *testing.T) {
	for _, streams := range []bool{true, false} {
		w := simulate(t, simulator.ListenConfig{Plain: true}, "")
		strict := &strictly{t: t, base: w.base}
		w.base = strict
		converse(t, newFlash(t, w, streams))
		if strict.read == 0 {
			t.Error("nothing was read")
		}
	}
}

// strictly reads each response into genai's types before genai does.
type strictly struct {
	t    *testing.T
	base http.RoundTripper
	read int
}

// RoundTrip implements http.RoundTripper.
func (s *strictly) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it was read to its end
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	documents := [][]byte{body}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		documents = bytes.Split(bytes.TrimSuffix(body, []byte("\r\n\r\n")), []byte("\r\n\r\n"))
	}
	for _, d := range documents {
		s.document(bytes.TrimPrefix(d, []byte("data: ")))
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

func (s *strictly) document(d []byte) {
	var r genai.GenerateContentResponse
	decoder := json.NewDecoder(bytes.NewReader(d))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		s.t.Errorf("%v: %s", err, d)
	}
	s.read++
}
