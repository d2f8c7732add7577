package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/wires/rule"
)

// killed are models of each provider; one of them binds its thoughts to the
// whole conversation before them.
var killed = []string{"claude-opus-4-5", "claude-opus-5-5", "gpt-5.2", "gemini-3.5-flash"}

// listening counts what a strict provider refused.
type listening struct {
	http.RoundTripper
	refused []int
}

func (l *listening) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(r)
	if err == nil && resp.StatusCode != http.StatusOK {
		l.refused = append(l.refused, resp.StatusCode)
	}
	return resp, err
}

// agentOver is an agent with a tool over the sessions in dir.
func agentOver(t *testing.T, dir, model string, transport http.RoundTripper, runs *int) *meerkat.Agent {
	t.Helper()
	return build(t, builderOver(dir, model, transport, runs))
}

func build(t *testing.T, b *meerkat.AgentBuilder) *meerkat.Agent {
	t.Helper()
	a, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// builderOver has what agentOver is made of.
func builderOver(dir, model string, transport http.RoundTripper, runs *int) *meerkat.AgentBuilder {
	var running sync.Mutex // sub-agents run it at the same time
	echo := tool.Tool{
		Def: transcript.ToolDef{Name: "echo", Description: "Returns the text.",
			InputSchema: transcript.RawJSON(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)},
		Func: func(_ context.Context, args []byte) (transcript.ToolResult, error) {
			running.Lock()
			defer running.Unlock()
			*runs++
			return transcript.ToolResult{Content: string(args)}, nil
		},
	}
	// Nobody's memory is at stake but that of the process that was killed: the
	// test needs no fsync.
	b := meerkat.NewAgent().WithModel(model).WithTool(echo).WithStore(jsonl.New(dir, nil).SyncEvery(-1)).
		WithHTTPClient(&http.Client{Transport: transport}).WithClock(func() time.Time {
		return time.Unix(1_800_000_000,
			0)
	}).WithSystemPrompt("Be exact.")
	return b.WithAnthropic("test-key").WithOpenAI("test-key").WithGemini("test-key")
}

// TestKilledAtEveryByte writes a session of two prompts with tools, cuts its
// file at every byte, as kill -9 would, and goes on with each piece: with a
// prompt and without. A strict provider must take all that is sent, no tool may
// run for a second time, and what cannot go on must say why (R37).
func TestKilledAtEveryByte(t *testing.T) {
	for _, model := range killed {
		t.Run(model, func(t *testing.T) { killAtEveryByte(t, model) })
	}
}

func killAtEveryByte(t *testing.T, model string) {
	t.Helper()
	strict := &listening{RoundTripper: simulator.Transport(simulator.New(simulator.Config{Seed: "killed",
		Level: rule.Strict}))}
	dir, runs := t.TempDir(), 0
	subject := agentOver(t, dir, model, strict, &runs)
	first, err := subject.Run(t.Context(), "Echo the word heron.")
	if err == nil {
		_, err = subject.Resume(t.Context(), first.SessionID, "And the word crane.")
	}
	if err != nil || runs == 0 || len(strict.refused) > 0 {
		t.Fatalf("%v; %d tools ran, refused %v", err, runs, strict.refused)
	}
	path := jsonl.New(dir, nil).Path(first.SessionID)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ended := map[string]int{}
	for _, cut := range cuts(whole) {
		for _, prompt := range []string{"", "Go on."} {
			ended[goesOn(t, model, whole[:cut], filepath.Base(path), first.SessionID, prompt)]++
		}
		if t.Failed() {
			t.Fatalf("cut at byte %d of %d, behind …%s", cut, len(whole), whole[max(0, cut-200):cut])
		}
	}
	t.Logf("%d bytes, cut %d times: %v", len(whole), len(cuts(whole)), ended)
	if ended["ok"] == 0 || ended["no header"] == 0 || ended["nothing to continue"] == 0 {
		t.Errorf("the pieces ended in %v: the test proves little", ended)
	}
}

// stride is how far apart cuts within a record are. Whatever they are, they
// leave the same piece once the torn record is dropped; MEERKAT_KILL_STRIDE=1
// tries every byte all the same (minutes).
func stride() int {
	if n, err := strconv.Atoi(os.Getenv("MEERKAT_KILL_STRIDE")); err == nil && n > 0 {
		return n
	}
	return 211
}

// cuts are every stride-th byte and all about the borders of records.
func cuts(whole []byte) (at []int) {
	for i := range len(whole) + 1 {
		atBorder := slices.ContainsFunc([]int{i - 2, i - 1, i},
			func(j int) bool { return j >= 0 && j < len(whole) && whole[j] == '\n' })
		if atBorder || i%stride() == 0 {
			at = append(at, i)
		}
	}
	return at
}

// goesOn resumes a piece of a session and says how that ended.
func goesOn(t *testing.T, model string, piece []byte, name string, id session.ID, prompt string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), piece, 0o600); err != nil {
		t.Fatal(err)
	}
	intact := piece[:bytes.LastIndexByte(piece, '\n')+1]
	before := bytes.Count(intact, []byte(`"status":"running"`))
	if _, err := session.DecodeRecord(piece[len(intact):]); err == nil &&
		bytes.Contains(piece[len(intact):], []byte(`"status":"running"`)) {
		before++ // all but its newline is there
	}
	strict := &listening{RoundTripper: simulator.Transport(simulator.New(simulator.Config{Seed: "killed",
		Level: rule.Strict}))}
	runs := 0
	_, err := agentOver(t, dir, model, strict, &runs).Resume(t.Context(), id, prompt)
	if len(strict.refused) > 0 {
		t.Errorf("the provider refused %v: %v", strict.refused, err)
	}
	var corrupt *session.CorruptError
	var failed *provider.Error
	switch {
	case err == nil:
	case errors.As(err, &corrupt) && !bytes.Contains(piece, []byte("\n")):
		return "no header"
	case errors.Is(err, agent.ErrNothingToContinue) && prompt == "":
		return "nothing to continue"
	case errors.As(err, &failed):
		t.Errorf("%v", err)
	default:
		t.Errorf("%q: %v", prompt, err)
	}
	once(t, dir, id, before, runs)
	return "ok"
}

// once fails if a tool ran for a call that had been started before.
func once(t *testing.T, dir string, id session.ID, before, runs int) {
	t.Helper()
	data, err := os.ReadFile(jsonl.New(dir, nil).Path(id))
	if err != nil {
		t.Fatal(err)
	}
	started := map[string]int{}
	for line := range bytes.Lines(data) {
		r, err := session.DecodeRecord(line)
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := r.(session.Tool); ok && c.Status == "running" {
			started[fmt.Sprint(c.Message, c.CallID)]++
		}
	}
	all := 0
	for call, n := range started {
		all += n
		if n > 1 {
			t.Errorf("the tool of call %s was started %d times", call, n)
		}
	}
	if all != before+runs {
		t.Errorf("%d tools are recorded as started, %d were before and %d ran since", all, before, runs)
	}
}
