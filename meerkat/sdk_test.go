package meerkat_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
)

// TestMCP runs a tool of a server that the official SDK serves, beside one of
// Go, under a policy.
func TestMCP(t *testing.T) {
	s := sdk.NewServer(&sdk.Implementation{Name: "words"}, nil)
	for _, name := range []string{"shout", "hidden"} {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{
					Content: []sdk.Content{&sdk.TextContent{Text: strings.ToUpper(string(r.Params.Arguments))}},
				}, nil
			})
	}
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	defer web.Close()
	a, err := meerkat.NewAgent().WithClient(caller("w__shout", "own", "w__hidden")).WithTool(named("own")).
		WithMCP(mcp.Options{},
			mcp.Server{Name: "w", URL: web.URL}).WithToolPolicy(tool.Policy{Deny: []string{"*hidden"}}).Build()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	result, err := a.Run(t.Context(), "go")
	if err != nil || result.ToolCalls != 3 {
		t.Fatalf("%+v, %v", result, err)
	}
	stored, err := a.Store().Load(t.Context(), result.SessionID)
	if err != nil {
		t.Fatal(err)
	}
	r := stored.Messages[2].Results
	if r[0].Content != `{"X":1}` || r[1].IsError || !strings.Contains(r[2].Content, "not allowed in this run") {
		t.Errorf("%+v", r)
	}
}

// caller calls tools once, side by side, and then says "done".
func caller(tools ...string) shouting { return shouting{tools: tools} }

// TestEventsOnAChannel: the last event says how the run ended, and the channel
// is closed behind it.
func TestEventsOnAChannel(t *testing.T) {
	heard := 0
	a, err := meerkat.NewAgent().WithClient(caller("own")).WithTool(named("own")).WithEvents(
		func(meerkat.Event) { heard++ },
	).Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, again := range []bool{false, true} {
		events, all := make(chan meerkat.Event), make(chan []meerkat.Event)
		go func() {
			var got []meerkat.Event
			for e := range events {
				got = append(got, e)
			}
			all <- got
		}()
		var result meerkat.RunResult
		var id meerkat.SessionID
		if again {
			infos, _ := a.Store().List(t.Context(), session.Filter{})
			id = infos[0].ID
			result, err = a.ResumeWithEvents(t.Context(), id, "more", events)
		} else {
			result, err = a.RunWithEvents(t.Context(), "go", events)
		}
		got := <-all
		if err != nil || got[0].Type != agent.RunStarted || got[len(got)-1].Type != agent.RunCompleted ||
			got[0].SessionID != result.SessionID || again && id != result.SessionID {
			t.Errorf("%+v, %v: %v", result, err, got)
		}
		if heard != len(got) {
			t.Errorf("the listener heard %d events, the channel %d", heard, len(got))
		}
		heard = 0
	}
}

// TestFork leaves the parent alone and goes on by itself.
func TestFork(t *testing.T) {
	a, err := meerkat.NewAgent().WithClient(echo{}).Build()
	if err != nil {
		t.Fatal(err)
	}
	first, err := a.Run(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	fork, err := a.Fork(t.Context(), first.SessionID, 0)
	if err != nil || fork == first.SessionID {
		t.Fatal(fork, err)
	}
	if second, err := a.Resume(t.Context(), fork, "two"); err != nil || second.SessionID != fork {
		t.Fatalf("%+v, %v", second, err)
	}
	parent, _ := a.Store().Load(t.Context(), first.SessionID)
	child, _ := a.Store().Load(t.Context(), fork)
	if len(parent.Messages) != 2 || len(child.Messages) != 4 {
		t.Errorf("%d and %d messages", len(parent.Messages), len(child.Messages))
	}
	if _, err := a.Fork(t.Context(), first.SessionID, 9); err == nil {
		t.Error("forked after a message that is not there")
	}
	if _, err := a.Fork(t.Context(), "0199a2b4-0000-7000-8000-000000000001", 0); !errors.Is(err, session.ErrNotFound) {
		t.Error(err)
	}
}

// TestWithEnv takes the keys that are there, and none twice.
func TestWithEnv(t *testing.T) {
	env := []string{"HOME=/", "GEMINI_API_KEY=g", "OPENAI_API_KEY=", "ANTHROPIC_API_KEY_OLD=x"}
	a, err := meerkat.NewAgent().WithEnv(env).Build()
	if err != nil {
		t.Fatal(err)
	}
	if e, _ := catalog.Lookup(a.Model()); e.Provider != catalog.Gemini {
		t.Errorf("the model is %s", a.Model())
	}
	if _, err := meerkat.NewAgent().WithEnv(env).WithModel("gpt-5.2").Build(); err == nil {
		t.Error("an empty key is a key")
	}
	b, err := meerkat.NewAgent().WithOpenAI("o").WithEnv(append(env, "ANTHROPIC_API_KEY=a")).Build()
	if e, _ := catalog.Lookup(b.Model()); err != nil || e.Provider != catalog.OpenAI {
		t.Errorf("the key that came first does not decide: %s, %v", b.Model(), err)
	}
}
