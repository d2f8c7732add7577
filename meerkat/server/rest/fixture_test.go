package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/artifact"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/server/rest"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// patience is how long a test waits for what must happen, also on a busy machine.
const patience = 3 * time.Minute

const token = "token-of-the-tests-0123456789"

// echo answers with the prompt. It waits until its context ends where the prompt is
// "wait", calls the tool hold where it is "hold", and starts a sub-agent with the rest of a
// prompt that begins with "spawn".
type echo struct{}

func (echo) Provider() string                         { return "anthropic" }
func (echo) Render(*provider.Request) ([]byte, error) { return nil, nil }

func (echo) Complete(ctx context.Context, r *provider.Request, listen func(stream.Event)) (stream.Reply, error) {
	prompt := r.Messages[len(r.Messages)-1].Content
	if prompt == "wait" {
		<-ctx.Done()
		return stream.Reply{}, ctx.Err()
	}
	usage := transcript.Usage{InputTokens: 10, OutputTokens: 3}
	if task, spawns := strings.CutPrefix(prompt, "spawn "); spawns || prompt == "hold" {
		call := transcript.ToolUse("call_1", "hold", []byte(`{}`))
		if spawns {
			call = transcript.ToolUse("call_1", "spawn_agent", []byte(`{"name":"one","prompt":"`+task+`"}`))
		}
		return stream.Reply{
			Message: transcript.Assistant(transcript.StopToolUse, call), Usage: usage, UsageKnown: true,
		}, nil
	}
	listen(stream.Event{Kind: stream.EventTextDelta, Delta: []byte(prompt)})
	return stream.Reply{
		Message: transcript.Assistant(transcript.StopEndTurn, transcript.Text("echo: "+prompt)),
		Usage:   usage, UsageKnown: true,
	}, nil
}

// fixture is a server over TCP whose sessions are in memory.
type fixture struct {
	*httptest.Server
	api     *rest.Server
	backend server.Backend
	store   session.Store
	// holding receives when the tool hold has begun, which then waits for released.
	holding, released chan struct{}
	late              atomic.Bool // the time of artifacts is up
	failOpening       atomic.Bool // no agent can be made
}

// holdTool is the tool hold.
func (f *fixture) holdTool() tool.Tool {
	return tool.Tool{
		Def: transcript.ToolDef{
			Name: "hold", Description: "waits", InputSchema: transcript.RawJSON(`{"type":"object"}`),
		},
		Func: func(ctx context.Context, _ []byte) (transcript.ToolResult, error) {
			f.holding <- struct{}{}
			select {
			case <-f.released:
				return transcript.ToolResult{Content: "held"}, nil
			case <-ctx.Done():
				return transcript.ToolResult{}, ctx.Err()
			}
		},
	}
}

// largeResult is how many bytes of a result of a sub-agent make it an artifact.
const largeResult = 500

// artifacts are in memory, and last a day.
func (f *fixture) artifacts() artifact.Store {
	return artifact.NewMemory(artifact.Options{Ancestors: artifact.ForkedFrom(f.store), Now: func() time.Time {
		if f.late.Load() {
			return time.Now().Add(25 * time.Hour)
		}
		return time.Now()
	}})
}

func newFixture(t testing.TB, limits server.BackendLimits, o rest.Options) *fixture {
	t.Helper()
	f := &fixture{store: session.NewMemoryStore(), holding: make(chan struct{}, 1), released: make(chan struct{})}
	artifacts := f.artifacts()
	host := server.Host{Store: f.store, Artifacts: artifacts, Version: "test",
		Open: func(ctx context.Context, r server.Request) (*meerkat.Agent, func(), error) {
			if f.failOpening.Load() {
				return nil, nil, errors.New("no agent can be made")
			}
			b := meerkat.NewAgent().WithClient(echo{}).WithStore(f.store).WithEvents(r.Listen).WithLimits(r.Limits).WithAttached(r.Attached...).
				WithNewRunID(
					func() (string, error) { return r.RunID, nil },
				).WithSystemPrompt(r.System).WithTraceContext(r.TraceParent, r.TraceState).WithSteering(r.Steering).
				WithTool(f.holdTool()).WithSubAgents(meerkat.SubAgents{
				Artifacts: artifacts, ArtifactThreshold: largeResult,
			})
			if ids := r.IDs(); ids != nil {
				b.WithNewID(ids)
			}
			a, err := b.BuildContext(ctx)
			return a, func() {}, err
		}}
	f.backend = server.NewLocal(host.Execute, server.LocalOptions{BackendLimits: limits})
	o.Token = token
	f.api = rest.New(host, f.backend, o)
	f.Server = httptest.NewServer(f.api.Handler())
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if err := f.api.Drain(ended); err != nil {
			t.Error(err)
		}
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

// answer is what came back, with the members that the tests look at.
type answer struct {
	status int
	header http.Header
	text   string

	ID         string `json:"id"`
	SessionID  string `json:"session_id"`
	Status     any    `json:"status"` // of a run or session, or the number of a problem
	Detail     string `json:"detail"`
	Messages   int    `json:"messages"`
	ForkedFrom string `json:"forked_from"`
	Total      int    `json:"total"`
	Result     any    `json:"result"`
	NextOffset *int   `json:"next_offset"`
	NextBefore string `json:"next_before"`
	Error      *struct{ Kind string }
	Sessions   []struct{ ID, Status string }
	Runs       []struct{ ID string }
	Items      []struct{ Type, Text string }
	Operations []shownOperation
	Artifacts  []struct{ ID string }
}

// shownOperation is an operation as a client reads it.
type shownOperation struct {
	ID        string
	Parent    string `json:"parent_id"`
	Depth     int
	Label     string
	Status    string
	Delivered bool
	Model     string
	Usage     *struct {
		InputTokens int `json:"input_tokens"`
	}
	Started    string `json:"started_at"`
	Ended      string `json:"ended_at"`
	ArtifactID string `json:"artifact_id"`
}

// ask sends a request with the token. headers are "Name: value".
func (f *fixture) ask(t testing.TB, method, path, body string, headers ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, f.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	response, err := f.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: response.StatusCode, header: response.Header, text: string(text)}
	if len(text) > 0 && strings.Contains(response.Header.Get("Content-Type"), "json") {
		if err := json.NewDecoder(bytes.NewReader(text)).Decode(&a); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
	return a
}

// start starts a session with a run that has ended, or that waits, and returns both ids.
func (f *fixture) start(t testing.TB, prompt string) (id, run string) {
	t.Helper()
	headers := []string{"Prefer: wait=170"}
	if prompt == "wait" {
		headers = nil
	}
	a := f.ask(t, "POST", "/sessions", `{"prompt":"`+prompt+`"}`, headers...)
	if a.status != http.StatusOK && prompt != "wait" || a.SessionID == "" {
		t.Fatalf("POST /sessions: %d %s", a.status, a.text)
	}
	return a.SessionID, a.ID
}
