package oracle

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/meerkat-go/conformance/simulator"
)

// gpt talks to the simulator by openai-go. Its history is its own, or the
// provider's.
type gpt struct {
	t       *testing.T
	client  openai.Client
	params  responses.ResponseNewParams
	streams bool
	stored  bool // continues by previous_response_id
	outline outline
	// last is the last response.
	last responses.Response
}

func newGPT(t *testing.T, w *link, streams, stored bool) *gpt {
	t.Helper()
	text := map[string]any{"text": map[string]any{"type": "string"}}
	g := &gpt{
		t: t, streams: streams, stored: stored,
		client: openai.NewClient(option.WithBaseURL(w.address("openai")+"/v1"), option.WithAPIKey("made-up"),
			option.WithHTTPClient(w.client())),
		params: responses.ResponseNewParams{
			Model: "gpt-5.5", Instructions: openai.String("Use the tools."), Store: openai.Bool(stored),
			Reasoning: shared.ReasoningParam{Effort: shared.ReasoningEffortHigh, Summary: shared.ReasoningSummaryAuto},
			Tools: []responses.ToolUnionParam{
				responses.ToolParamOfFunction("conform_echo", map[string]any{
					"type": "object", "properties": text, "required": []string{"text"}, "additionalProperties": false},
					true),
				responses.ToolParamOfFunction("conform_noargs",
					map[string]any{"type": "object", "properties": map[string]any{}}, false),
			},
		},
	}
	if !stored {
		g.params.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	return g
}

func (g *gpt) add(items ...responses.ResponseInputItemUnionParam) {
	g.params.Input.OfInputItemList = append(g.params.Input.OfInputItemList, items...)
}

func (g *gpt) prompt(text string) {
	g.add(responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser))
}

func (g *gpt) answer(to call, result string) {
	item := responses.ResponseInputItemParamOfFunctionCallOutput(result)
	item.OfFunctionCallOutput.CallID = openai.String(to.id)
	g.add(item)
}

func (g *gpt) alter() {
	for n, i := range g.params.Input.OfInputItemList {
		raw, err := json.Marshal(i)
		if err != nil {
			g.t.Fatal(err)
		}
		var item struct {
			Token string `json:"encrypted_content"`
		}
		if json.Unmarshal(raw, &item) == nil && item.Token != "" {
			raw = bytes.ReplaceAll(raw, []byte(item.Token), []byte(alteredToken(item.Token)))
			g.params.Input.OfInputItemList[n] = param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(raw))
			return
		}
	}
	g.t.Error("no reasoning in the history")
}

func (g *gpt) ask() (said, error) {
	var s said
	r, err := g.respond()
	if err != nil {
		return s, err
	}
	g.last = *r
	if g.stored {
		g.params.PreviousResponseID, g.params.Input.OfInputItemList = openai.String(r.ID), nil
	}
	for _, item := range r.Output {
		var back responses.ResponseInputItemUnionParam
		switch item := item.AsAny().(type) {
		case responses.ResponseReasoningItem:
			s.thought()
			p := item.ToParam()
			back.OfReasoning = &p
		case responses.ResponseOutputMessage:
			s.text(item.Content[0].Text)
			p := item.ToParam()
			back.OfOutputMessage = &p
		case responses.ResponseFunctionToolCall:
			s.call(item.CallID, item.Name, []byte(item.Arguments))
			p := item.ToParam()
			back.OfFunctionCall = &p
		}
		if !g.stored {
			g.add(back)
		}
	}
	return s, nil
}

func (g *gpt) respond() (*responses.Response, error) {
	if !g.streams {
		r, err := g.client.Responses.New(g.t.Context(), g.params)
		if err == nil {
			g.outline.see("response", r)
		}
		return r, err
	}
	stream := g.client.Responses.NewStreaming(g.t.Context(), g.params)
	defer func() { _ = stream.Close() }() // it was read to its end
	return g.final(stream)
}

// events is what openai-go streams by.
type events interface {
	Next() bool
	Current() responses.ResponseStreamEventUnion
	Err() error
}

// errNumbers says that the events' numbers have a gap.
var errNumbers = errors.New("the events are not numbered one by one")

// final reads a stream to its end and returns the response that it ends with.
func (g *gpt) final(s events) (*responses.Response, error) {
	var numbers []int64
	for s.Next() {
		event := s.Current()
		g.outline.see(event.Type, event)
		numbers = append(numbers, event.SequenceNumber)
		switch event := event.AsAny().(type) {
		case responses.ResponseCompletedEvent:
			for i, n := range numbers {
				if n != numbers[0]+int64(i) {
					return nil, errNumbers
				}
			}
			return &event.Response, nil
		case responses.ResponseFailedEvent:
			return nil, errors.New(string(event.Response.Error.Code) + ": " + event.Response.Error.Message)
		}
	}
	if s.Err() != nil {
		return nil, s.Err()
	}
	return nil, errNoFinal
}

// gpts are the ways of talking by openai-go.
var gpts = map[string]struct{ streams, stored bool }{
	"stream": {true, false}, "unary": {false, false}, "stream stored": {true, true}, "unary stored": {false, true},
}

func TestOpenAILoop(t *testing.T) {
	ways := map[string]func(*link) talker{}
	for name, way := range gpts {
		ways[name] = func(w *link) talker { return newGPT(t, w, way.streams, way.stored) }
	}
	loops(t, ways)
}

// unlikeOpenAI is where the SDK's types and the API, as recorded, differ: what they
// require and it does not send, and what it sends and they do not know.
var unlikeOpenAI = []string{
	"access_programs: missing",
	"obfuscation: unknown", "frequency_penalty: unknown", "presence_penalty: unknown", "store: unknown",
	"billing: unknown", "tool_usage: unknown",
}

// TestOpenAIShape holds that the SDK misses nothing, misreads nothing and knows
// all that a loop sends it.
func TestOpenAIShape(t *testing.T) {
	for _, way := range gpts {
		g := newGPT(t, simulate(t, simulator.ListenConfig{Plain: true}, ""), way.streams, way.stored)
		converse(t, g)
		g.outline.report(t, unlikeOpenAI...)
	}
}

// TestOpenAIRefusal holds that altered encrypted content is the SDK's typed
// error.
func TestOpenAIRefusal(t *testing.T) {
	for _, streams := range []bool{true, false} {
		err := altered(t, newGPT(t, simulate(t, simulator.ListenConfig{Plain: true}, ""), streams, false))
		var refused *openai.Error
		if !errors.As(err, &refused) || refused.StatusCode != http.StatusBadRequest ||
			refused.Code != "invalid_encrypted_content" || refused.Type != "invalid_request_error" ||
			refused.Message == "" {
			t.Errorf("streams %t: %v", streams, err)
		}
	}
}

// TestOpenAIUnknownParameter holds that a refusal names what it is about.
func TestOpenAIUnknownParameter(t *testing.T) {
	g := newGPT(t, simulate(t, simulator.ListenConfig{Plain: true}, ""), false, false)
	g.prompt("Call the tools.")
	g.params.SetExtraFields(map[string]any{"novelty": 1})
	_, err := g.ask()
	var refused *openai.Error
	if !errors.As(err, &refused) || refused.Param != "novelty" || refused.Code != "unknown_parameter" ||
		refused.Message != "Unknown parameter: 'novelty'." {
		t.Errorf("%v %+v", err, refused)
	}
}

// TestOpenAIStored asks for a stored response again, whole and from behind an
// event, for its input, and has it deleted.
func TestOpenAIStored(t *testing.T) {
	g := newGPT(t, simulate(t, simulator.ListenConfig{Plain: true}, ""), true, true)
	g.prompt("Call the tools.")
	if _, err := g.ask(); err != nil {
		t.Fatal(err)
	}
	made, all := g.last, g.client.Responses
	again, err := all.Get(t.Context(), made.ID, responses.ResponseGetParams{})
	if err != nil || len(again.Output) != 5 || again.Output[1].ID != made.Output[1].ID {
		t.Errorf("%+v, %v", again, err)
	}
	g.outline.see("retrieved", again)
	// The SDK says stream in the body of a GET; the API reads the query.
	if _, err := g.final(all.GetStreaming(t.Context(), made.ID, responses.ResponseGetParams{})); !errors.Is(err, errNoFinal) {
		t.Errorf("GetStreaming streams by itself: %v", err)
	}
	resumed, err := g.final(all.GetStreaming(t.Context(), made.ID,
		responses.ResponseGetParams{StartingAfter: openai.Int(5)}, option.WithQuery("stream", "true")))
	if err != nil || resumed.ID != made.ID {
		t.Errorf("%+v, %v", resumed, err)
	}
	var seen []string
	items := all.InputItems.ListAutoPaging(t.Context(), made.ID, responses.InputItemListParams{Limit: openai.Int(1)})
	for items.Next() {
		seen = append(seen, items.Current().Type)
		g.outline.see("input item", items.Current().AsMessage())
	}
	if items.Err() != nil || !slices.Equal(seen, []string{"message"}) {
		t.Errorf("%q, %v", seen, items.Err())
	}
	var refused *openai.Error
	if _, err = all.Cancel(t.Context(), made.ID); !errors.As(err, &refused) ||
		refused.StatusCode != http.StatusBadRequest {
		t.Error(err)
	}
	if err = all.Delete(t.Context(), made.ID); err != nil {
		t.Error(err)
	}
	if _, err = all.Get(t.Context(), made.ID, responses.ResponseGetParams{}); !errors.As(err, &refused) ||
		refused.StatusCode != http.StatusNotFound {
		t.Error(err)
	}
	g.outline.report(t, unlikeOpenAI...)
}

// TestOpenAIBackground has a response made in the background, and one
// cancelled.
func TestOpenAIBackground(t *testing.T) {
	g := newGPT(t, simulate(t, simulator.ListenConfig{Plain: true}, ""), false, true)
	g.prompt("Call the tools.")
	g.params.Background = openai.Bool(true)
	var statuses []responses.ResponseStatus
	look := func(r *responses.Response, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		g.outline.see("background", r)
		statuses = append(statuses, r.Status)
		return r.ID
	}
	id := look(g.client.Responses.New(t.Context(), g.params))
	look(g.client.Responses.Get(t.Context(), id, responses.ResponseGetParams{}))
	look(g.client.Responses.Get(t.Context(), id, responses.ResponseGetParams{}))
	id = look(g.client.Responses.New(t.Context(), g.params))
	look(g.client.Responses.Cancel(t.Context(), id))
	if want := []responses.ResponseStatus{"queued", "in_progress", "completed", "queued", "cancelled"}; !slices.Equal(statuses, want) {
		t.Errorf("%q; want %q", statuses, want)
	}
	g.outline.report(t, unlikeOpenAI...)
}

// TestOpenAISides counts tokens and lists models.
func TestOpenAISides(t *testing.T) {
	g := newGPT(t, simulate(t, simulator.ListenConfig{Plain: true}, ""), false, false)
	count, err := g.client.Responses.InputTokens.Count(t.Context(), responses.InputTokenCountParams{
		Model: openai.String("gpt-5.5"), Instructions: g.params.Instructions, Tools: g.params.Tools,
		Reasoning: g.params.Reasoning,
		Input:     responses.InputTokenCountParamsInputUnion{OfString: openai.String("Call the tools.")},
	})
	if err != nil || count.InputTokens < 10 {
		t.Errorf("%+v, %v", count, err)
	}
	g.outline.see("count", count)
	var ids []string
	pages := g.client.Models.ListAutoPaging(t.Context())
	for pages.Next() {
		ids = append(ids, pages.Current().ID)
		g.outline.see("models", pages.Current())
	}
	if pages.Err() != nil || !slices.Contains(ids, "gpt-5.5") {
		t.Errorf("%q, %v", ids, pages.Err())
	}
	one, err := g.client.Models.Get(t.Context(), "gpt-5.5")
	if err != nil || one.ID != "gpt-5.5" || one.Created == 0 {
		t.Errorf("%+v, %v", one, err)
	}
	var missing *openai.Error
	if _, err = g.client.Models.Get(t.Context(), "gpt-0"); !errors.As(err, &missing) ||
		missing.Code != "model_not_found" || missing.Param != "model" {
		t.Error(err)
	}
	g.outline.report(t, unlikeOpenAI...)
}

// TestOpenAIRetry holds that the SDK comes back when it is told to, and when.
func TestOpenAIRetry(t *testing.T) {
	t.Parallel()
	w := simulate(t, simulator.ListenConfig{Plain: true}, "    refuse: {kind: rate_limit, retry: seconds}\n")
	retried(t, w, newGPT(t, w, true, false), http.StatusTooManyRequests, time.Second)
}

// TestOpenAIFailure holds that an error in a stream is the SDK's error.
func TestOpenAIFailure(t *testing.T) {
	g := newGPT(t, simulate(t, simulator.ListenConfig{Plain: true}, "    error: {kind: server, after: 4}\n"),
		true, false)
	g.prompt("Call the tools.")
	_, err := g.ask()
	var failed *ssestream.StreamError
	if !errors.As(err, &failed) || !strings.Contains(failed.Message, "server_error") {
		t.Error(err)
	}
	g.outline.report(t, unlikeOpenAI...)
}

// TestOpenAIGrease holds that unknown content does not disturb the SDK.
func TestOpenAIGrease(t *testing.T) {
	g := newGPT(t, simulate(t, simulator.ListenConfig{Plain: true}, "    grease: [unknown_event, unknown_field]\n"),
		true, false)
	greased(t, g, &g.outline)
}

// TestOpenAICompacted has a conversation compacted by the official client, and goes on from
// what it returns as its documentation says: whole.
func TestOpenAICompacted(t *testing.T) {
	g := newGPT(t, simulate(t, simulator.ListenConfig{Plain: true}, ""), false, false)
	window, err := g.client.Responses.Compact(t.Context(), responses.ResponseCompactParams{
		Model: "gpt-5.5", Instructions: openai.String("Use the tools."),
		Input: responses.ResponseCompactParamsInputUnion{OfString: openai.String("Call the tools.")},
	})
	if err != nil || window.Object != "response.compaction" || len(window.Output) != 2 ||
		window.Output[1].Type != "compaction" || window.Usage.InputTokens == 0 {
		t.Fatalf("%+v, %v", window, err)
	}
	g.outline.see("compacted", window)
	for _, item := range window.Output {
		g.add(param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(item.RawJSON())))
	}
	if answer, err := g.ask(); err != nil {
		t.Errorf("%+v, %v", answer, err)
	}
}
