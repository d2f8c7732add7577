package meerkat_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// noTraffic fails the test when anything tries to leave.
func noTraffic(t *testing.T) *http.Client {
	t.Helper()
	return &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		t.Errorf("traffic: %s", r.URL)
		return nil, errors.New("no network")
	})}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestUnsupportedModels are refused by Build, for every provider, before there
// is a session or a connection (R41).
func TestUnsupportedModels(t *testing.T) {
	for _, model := range []string{
		"claude-3-5-sonnet-20241022", "claude-sonnet-4-20250514", "gpt-4o", "gpt-5.1", "o3", "gemini-2.5-pro",
		"nonsense",
	} {
		store := session.NewMemoryStore()
		_, err := meerkat.NewAgent().WithAnthropic("k").WithOpenAI("k").WithGemini("k").WithHTTPClient(noTraffic(t)).WithStore(store).WithModel(model).Build()
		var unsupported *catalog.UnsupportedModel
		if !errors.As(err, &unsupported) || unsupported.Model != model || unsupported.Reason == "" ||
			len(unsupported.Known) == 0 {
			t.Errorf("%s: %v", model, err)
		}
		if infos, _ := store.List(context.Background(), session.Filter{}); len(infos) != 0 {
			t.Errorf("%s left %v", model, infos)
		}
	}
}

// TestDefaults are allowed models of the first provider with a key (X4).
func TestDefaults(t *testing.T) {
	for _, p := range []string{catalog.Anthropic, catalog.OpenAI, catalog.Gemini} {
		a, err := meerkat.NewAgent().WithKey(p, "k").WithKey(catalog.OpenAI, "other").Build()
		if err != nil {
			t.Fatal(err)
		}
		if e, err := catalog.Lookup(a.Model()); err != nil || e.Provider != p {
			t.Errorf("%s: default %s of %s, %v", p, a.Model(), e.Provider, err)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	d, _ := tool.New(named("t"))
	for name, c := range map[string]struct {
		builder *meerkat.AgentBuilder
		want    string
	}{
		"nothing":          {meerkat.NewAgent(), meerkat.ErrNoProvider.Error()},
		"unknown provider": {meerkat.NewAgent().WithKey("mistral", "k"), meerkat.ErrNoProvider.Error()},
		"no key": {
			meerkat.NewAgent().WithModel("gpt-5.2"), "openai: there is no API key; set OPENAI_API_KEY",
		},
		"key of another": {
			meerkat.NewAgent().WithAnthropic("k").WithModel("gemini-3-pro-preview"), "set GEMINI_API_KEY",
		},
		"empty key": {meerkat.NewAgent().WithAnthropic(""), "set ANTHROPIC_API_KEY"},
		"base URL":  {meerkat.NewAgent().WithAnthropic("k").WithBaseURL("ftp://x"), "base URL"},
		"client of another": {meerkat.NewAgent().WithClient(echo{}).WithModel("gpt-5.2"),
			"it is a model of openai, and the client speaks to anthropic"},
		"bad tool": {meerkat.NewAgent().WithClient(echo{}).WithTool(tool.Tool{}), `tool ""`},
		"twice a tool": {
			meerkat.NewAgent().WithClient(echo{}).WithTool(named("t")).WithDispatcher(d), "tools of one name: t",
		},
		"bad policy": {
			meerkat.NewAgent().WithClient(echo{}).WithDispatcher(d).WithToolPolicy(tool.Policy{Allow: []string{"["}}),
			`tool pattern "["`,
		},
		"bad server": {meerkat.NewAgent().WithClient(echo{}).WithMCPServer("gone", "/no/such/program"), "gone"},
	} {
		if _, err := c.builder.Build(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

// named is a tool that does nothing.
func named(name string) tool.Tool {
	return tool.Tool{Def: transcript.ToolDef{Name: name},
		Func: func(context.Context, []byte) (transcript.ToolResult, error) {
			return transcript.ToolResult{}, nil
		}}
}

// TestUnlistedLeavesAMark in the session.
func TestUnlistedLeavesAMark(t *testing.T) {
	a, err := meerkat.NewAgent().WithClient(echo{}).WithUnlistedModel().WithModel("claude-3-5-sonnet-20241022").Build()
	if err != nil {
		t.Fatal(err)
	}
	result, err := a.Run(context.Background(), "hi")
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.Store().Load(context.Background(), result.SessionID)
	if err != nil {
		t.Fatal(err)
	}
	if model, ok := s.AnnotationValue(session.AnnotationAllowUnlisted); !ok || model != a.Model() {
		t.Errorf("marks %v", s.Annotations)
	}
}

// TestOverTheWire runs an agent against a server, with every setting that
// reaches the request.
func TestOverTheWire(t *testing.T) {
	var body map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(data, &body); err != nil || r.Header.Get("X-Api-Key") != "secret" ||
			r.URL.Path != "/v1/messages" {
			t.Errorf("%s %v %v", r.URL, r.Header, err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(
			w,
			`{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-5","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}}`,
		)
	}))
	defer server.Close()
	var events []string
	dir := t.TempDir()
	a, err := meerkat.NewAgent().WithAnthropic("secret").WithBaseURL(server.URL).WithHTTPClient(server.Client()).
		WithModel("claude-opus-4-5").WithSystemPrompt("be brief").WithEffort("none").WithTemperature(0.5).
		WithMaxOutputTokens(77).WithMaxTurns(1).WithMaxParallelTools(1).WithUnary().WithJSONLStore(dir).
		WithTool(tool.Tool{
			Def:  transcript.ToolDef{Name: "t"},
			Func: func(context.Context, []byte) (transcript.ToolResult, error) { return transcript.ToolResult{}, nil },
		}).
		WithEvents(func(e meerkat.Event) { events = append(events, string(e.Type)) }).Build()
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Run(context.Background(), "hi")
	if err != nil || got.Text != "hello" || got.Usage.Total() != 5 {
		t.Fatalf("%+v, %v", got, err)
	}
	if body["max_tokens"] != 77.0 || body["temperature"] != 0.5 || body["system"] == nil ||
		len(body["tools"].([]any)) != 1 {
		t.Errorf("%v", body)
	}
	if len(events) == 0 || events[0] != "run_started" {
		t.Errorf("%v", events)
	}
	if _, err := a.Resume(
		context.Background(), got.SessionID, "more",
	); err != nil || len(body["messages"].([]any)) != 3 {
		t.Errorf("%v, %v", err, body["messages"])
	}
}

// TestWithConfig: a configuration sets all fields, a later call changes one.
func TestWithConfig(t *testing.T) {
	var got *provider.Request
	client := clientFunc(func(r *provider.Request) { got = r })
	a, err := meerkat.NewAgent().WithClient(echo{}).WithConfig(agent.Config{
		Client: client, Effort: "low", System: "be brief",
	}).WithSystemPrompt("be kind").Build()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Run(context.Background(), "hi"); err != nil || got.Effort != "low" || got.System != "be kind" {
		t.Errorf("%+v, %v", got, err)
	}
}

// clientFunc is an echo that shows what it is sent.
type clientFunc func(*provider.Request)

func (clientFunc) Provider() string                         { return catalog.Anthropic }
func (clientFunc) Render(*provider.Request) ([]byte, error) { return nil, nil }
func (f clientFunc) Complete(ctx context.Context, r *provider.Request, on func(stream.Event)) (stream.Reply, error) {
	f(r)
	return echo{}.Complete(ctx, r, on)
}

// echo is a client that repeats the last message.
type echo struct{}

func (echo) Provider() string                         { return catalog.Anthropic }
func (echo) Render(*provider.Request) ([]byte, error) { return nil, nil }
func (echo) Complete(_ context.Context, r *provider.Request, _ func(stream.Event)) (stream.Reply, error) {
	last := r.Messages[len(r.Messages)-1]
	return stream.Reply{
		Message: transcript.Assistant(transcript.StopEndTurn, transcript.Text("You said: "+last.Content)),
	}, nil
}
