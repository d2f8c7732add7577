package meerkat_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// nonsense is what a provider, or what stands in front of it, may answer with
// 200.
var nonsense = map[string]string{
	"nothing":          "",
	"a word":           "ok",
	"a web page":       "<!doctype html><title>Sign in</title>",
	"null":             "null",
	"an object":        "{}",
	"an array":         "[]",
	"bytes":            "\x00\xff\xfe\x80",
	"a broken object":  `{"id":`,
	"an error":         `{"type":"error","error":{"type":"api_error","message":"secret-canary broke"}}`,
	"pings":            "event: ping\ndata: {\"type\":\"ping\"}\n\n",
	"done":             "data: [DONE]\n\n",
	"no data":          "event: message_start\n\n",
	"a wrong type":     "data: 7\n\n",
	"an unknown event": "event: x\ndata: {\"type\":\"x\"}\n\n",
	"a dangling stop":  "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
}

// TestNonsense with 200 is an error of the provider, never an answer; the prompt
// is kept, no secret is told, and the session goes on when the provider is back.
func TestNonsense(t *testing.T) {
	const key = "secret-canary"
	for _, p := range []string{"anthropic", "openai", "gemini"} {
		for name, body := range nonsense {
			for _, kind := range []string{"text/event-stream", "application/json"} {
				t.Run(fmt.Sprint(p, " ", name, " as ", kind), func(t *testing.T) {
					server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Content-Type", kind)
						_, _ = io.WriteString(w, body)
					}))
					defer server.Close()
					store := session.NewMemoryStore()
					b := meerkat.NewAgent().WithKey(p, key).WithBaseURL(server.URL).WithHTTPClient(server.Client()).
						WithStore(store).WithRetry(provider.RetryPolicy{})
					if kind == "application/json" {
						b.WithUnary()
					}
					a, err := b.Build()
					if err != nil {
						t.Fatal(err)
					}
					got, err := a.Run(t.Context(), "hi")
					var failure *provider.Error
					var run *agent.RunError
					if !errors.As(err, &run) || !errors.As(err, &failure) || got.Text != "" ||
						strings.Contains(err.Error(), key) {
						t.Fatalf("%+v, %v", got, err)
					}
					if s, err := store.Load(t.Context(), got.SessionID); err != nil || len(s.Messages) != 1 ||
						s.Messages[0].Content != "hi" {
						t.Errorf("%v, %v", s.Messages, err)
					}
				})
			}
		}
	}
}

// TestRunsAtOnce: one agent runs many prompts beside each other, with tools.
func TestRunsAtOnce(t *testing.T) {
	ran := tool.Tool{Def: transcript.ToolDef{Name: "own", InputSchema: transcript.RawJSON(`{"type":"object"}`)},
		Func: func(context.Context, []byte) (transcript.ToolResult, error) {
			return transcript.ToolResult{Content: "ran"}, nil
		}}
	a, err := meerkat.NewAgent().WithClient(caller("own",
		"own2")).WithTool(ran).WithEvents(func(meerkat.Event) {}).Build()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	ids := make([]meerkat.SessionID, 20)
	for i := range ids {
		wg.Go(func() {
			got, err := a.Run(t.Context(), fmt.Sprint("prompt ", i))
			if ids[i] = got.SessionID; err != nil || got.ToolCalls != 2 {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	wg.Wait()
	for i, id := range ids {
		wg.Go(func() {
			if s, err := a.Store().Load(t.Context(), id); err != nil ||
				s.Messages[0].Content != fmt.Sprint("prompt ", i) {
				t.Errorf("%v, %v", s.Messages, err)
			}
		})
	}
	wg.Wait()
}
