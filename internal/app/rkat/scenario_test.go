package rkat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
	"github.com/meerkat-go/conformance/meerkat/transcript"
	"github.com/meerkat-go/conformance/schemas"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/specs"
)

// upstream is a provider on loopback that keeps the bodies it was sent.
type upstream struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
}

func newUpstream(tb testing.TB, h http.Handler) *upstream {
	tb.Helper()
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.bodies = append(u.bodies, body)
		u.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	}))
	u.Config.ErrorLog = nil
	tb.Cleanup(u.Close)
	return u
}

func (u *upstream) requests() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.bodies)
}

// env is what a process is given that may speak only to u.
func (u *upstream) env(dir string) []string {
	return []string{
		"ANTHROPIC_API_KEY=made-up", "OPENAI_API_KEY=made-up", "GEMINI_API_KEY=made-up",
		"ANTHROPIC_BASE_URL=" + u.URL, "OPENAI_BASE_URL=" + u.URL, "GOOGLE_GEMINI_BASE_URL=" + u.URL,
		"RKAT_SESSION_DIR=" + dir, "RKAT_RETRY_MAX_RETRIES=0",
	}
}

// ran is what a command left behind.
type ran struct {
	code           int
	stdout, stderr string
}

func rkat(ctx context.Context, env []string, args ...string) ran {
	var out, errs bytes.Buffer
	code := allBackends.Run(ctx, args, strings.NewReader(""), &out, &errs, env)
	return ran{code, out.String(), errs.String()}
}

// TestScenarios plays every scenario with every provider, streamed and whole:
// each step a run of its own, as a new process would be. Every session that
// comes of it is legal.
func TestScenarios(t *testing.T) {
	all, err := specs.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, target := range s.Targets {
			for _, unary := range []bool{false, true} {
				if target.Provider == "chat" || unary && breaksStream(s) { // rkat does not speak Chat Completions
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/unary=%v", s.Name, target.Provider, unary), func(t *testing.T) {
					t.Parallel()
					play(t, s, target, unary)
				})
			}
		}
	}
}

func breaksStream(s *specs.Scenario) bool {
	for _, turn := range s.Turns {
		if turn.Cut != nil || turn.Fail != nil {
			return true
		}
	}
	return false
}

func play(t *testing.T, s *specs.Scenario, target specs.Target, unary bool) {
	t.Helper()
	u := newUpstream(t, simulator.New(simulator.Config{Scenario: s, Seed: "test"}))
	dir := t.TempDir()
	for i, step := range s.Steps {
		before := u.requests()
		got := rkat(t.Context(), u.env(dir), command(s, target, step, unary)...)
		fits(t, schemas.RkatResult, got.stdout)
		ok := map[specs.Exit]bool{
			specs.ExitOK:          got.code == 0,
			specs.ExitError:       got.code == exitUnavailable || s.Limits.Turns > 0 && got.code == exitLimit,
			specs.ExitUnsupported: got.code == exitDenied,
		}
		if !ok[step.Exit] || step.Exit == specs.ExitUnsupported && u.requests() > before {
			t.Fatalf(
				"step %d exits %d after %d requests; want %s\n%s%s", i, got.code, u.requests()-before, step.Exit,
				got.stdout, got.stderr,
			)
		}
	}
	if target.Provider == "anthropic" && u.requests() > 1 && !refusesContent(s) {
		onlyGrows(t, u.bodies)
	}
	legalSession(t, u.env(dir))
}

// refusesContent reports whether something must be taken out of a request.
func refusesContent(s *specs.Scenario) bool {
	return slices.ContainsFunc(s.Turns, func(t specs.Turn) bool { return t.Refuse != nil && t.Refuse.IsAboutContent() })
}

func command(s *specs.Scenario, target specs.Target, step specs.Step, unary bool) []string {
	args := []string{
		"run", "--conform-tools", "--model", target.Model, "--effort", target.Effort, "--system", s.System, "--output",
		"json",
	}
	if step.Resume {
		args[0] = "resume"
		args = append(args, "--last")
	}
	if s.CallsRole("image") {
		args = append(args, "--conform-extra", "image")
	}
	if s.Limits.Turns > 0 {
		args = append(args, "--max-turns", strconv.Itoa(s.Limits.Turns))
	}
	if unary {
		args = append(args, "--unary")
	}
	if step.Prompt != "" {
		args = append(args, step.Prompt)
	}
	return args
}

// onlyGrows requires that each request begins with the one before: same system
// prompt, same tools, same messages (R44).
func onlyGrows(t *testing.T, bodies [][]byte) {
	t.Helper()
	type request struct {
		System   json.RawMessage   `json:"system"`
		Tools    json.RawMessage   `json:"tools"`
		Messages []json.RawMessage `json:"messages"`
	}
	var last request
	for i, body := range bodies {
		var r request
		if err := json.Unmarshal(body, &r); err != nil {
			t.Fatal(err)
		}
		if i > 0 && (!bytes.Equal(last.System, r.System) || !bytes.Equal(last.Tools, r.Tools)) {
			t.Errorf("request %d has another system prompt or other tools", i)
		}
		for j := range last.Messages {
			if j >= len(r.Messages) || !bytes.Equal(last.Messages[j], r.Messages[j]) {
				t.Errorf("request %d changes message %d", i, j)
			}
		}
		last = r
	}
}

// legalSession shows the last session and requires that every call is answered
// and that the file decodes to what is shown.
func legalSession(t *testing.T, env []string) {
	t.Helper()
	list := rkat(t.Context(), env, "sessions", "list", "--json")
	var sessions struct{ Sessions []listed }
	if err := json.Unmarshal([]byte(list.stdout), &sessions); err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions.Sessions {
		shown := rkat(t.Context(), env, "sessions", "show", string(s.ID), "--json")
		fits(t, schemas.RkatSession, shown.stdout)
		var out struct{ Messages []transcript.Message }
		if err := json.Unmarshal([]byte(shown.stdout), &out); err != nil || shown.code != 0 {
			t.Fatalf("%d %v %s", shown.code, err, shown.stderr)
		}
		stored, err := jsonl.New(config.ParseEnvironment(env)["RKAT_SESSION_DIR"], nil).Load(t.Context(), s.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stored.Messages, out.Messages, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
		answered(t, out.Messages)
	}
}

func answered(t *testing.T, messages []transcript.Message) {
	t.Helper()
	for i := range messages {
		n := 0
		for c := range messages[i].ToolCalls() {
			if i+1 == len(messages) || len(messages[i+1].Results) <= n || messages[i+1].Results[n].ToolUseID != c.ID {
				t.Errorf("call %s of message %d has no answer", c.ID, i)
			}
			n++
		}
	}
}
