package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/wires/rule"
)

// journal is a store that notes in which order the records of all sessions were written.
type journal struct {
	session.Store
	mu    sync.Mutex
	order []session.ID // one entry for each record
}

func (j *journal) note(id session.ID, records int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for range records {
		j.order = append(j.order, id)
	}
}

func (j *journal) Create(ctx context.Context, h session.Header) (session.Writer, error) {
	w, err := j.Store.Create(ctx, h)
	if err == nil {
		j.note(h.ID, 1)
	}
	return journalWriter{w, j, h.ID}, err
}

func (j *journal) Open(ctx context.Context, id session.ID) (session.Session, session.Writer, error) {
	s, w, err := j.Store.Open(ctx, id)
	return s, journalWriter{w, j, id}, err
}

type journalWriter struct {
	session.Writer
	journal *journal
	id      session.ID
}

func (w journalWriter) Append(ctx context.Context, records ...session.Record) error {
	err := w.Writer.Append(ctx, records...)
	if err == nil {
		w.journal.note(w.id, len(records))
	}
	return err
}

// plannedAgent is a sub-agent of a random tree, as the arguments of spawn_agent.
type plannedAgent struct {
	Prompt   string   `json:"prompt"`
	Name     string   `json:"name"`
	Depends  []string `json:"depends_on,omitempty"`
	MaxTurns int      `json:"max_turns,omitempty"`
	Model    string   `json:"model,omitempty"`
}

// treeModels are the models of random trees, one of each provider.
var treeModels = []string{"claude-opus-5-5", "gpt-5.2", "gemini-3.5-flash"}

// drawPlan draws the prompt of an agent: calls, sub-agents, and what it does about them.
func drawPlan(t *rapid.T, depth int, name string) string {
	var lines []string
	children := 0
	if depth > 0 {
		children = rapid.IntRange(0, 3).Draw(t, "children")
		if depth > 1 {
			children = max(1, children)
		}
	}
	var names []string
	for i := range children {
		child := plannedAgent{Name: fmt.Sprintf("%s%d", name, i)}
		child.Prompt = drawPlan(t, depth-1, child.Name)
		if len(names) > 0 && rapid.IntRange(0, 3).Draw(t, "depends") == 0 {
			child.Depends = names[len(names)-1:]
		}
		if rapid.IntRange(0, 4).Draw(t, "starves") == 0 {
			child.MaxTurns = 1
		}
		names = append(names, child.Name)
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			lines = append(lines, "fork "+
				encode(map[string]any{"branches": []plannedAgent{{Prompt: child.Prompt, Name: child.Name}}}))
		case 1:
			child.Model = rapid.SampledFrom(treeModels).Draw(t, "model")
			fallthrough
		default:
			lines = append(lines, "spawn_agent "+encode(child))
		}
	}
	text := map[string]string{"text": name}
	if rapid.IntRange(0, 2).Draw(t, "background") == 0 {
		lines = append(lines, "start_tool "+encode(map[string]any{"tool": "echo", "arguments": text}))
	} else if children == 0 || rapid.Bool().Draw(t, "echoes") {
		lines = append(lines, "echo "+encode(text))
	}
	if children > 0 {
		some := names[:rapid.IntRange(1, len(names)).Draw(t, "some")]
		lines = append(lines, rapid.SampledFrom([]string{
			"then await_ops " + encode(map[string]any{"ids": some}),
			"then await_ops " + encode(map[string]any{"mode": "any"}),
			"then await_ops " + encode(map[string]any{"ids": some, "mode": "first_success"}),
			"then cancel_ops " + encode(map[string]any{"ids": some}),
			"then steer " + encode(map[string]any{"id": some[0], "message": "Be quick."}),
			"then op_status {}",
			"then say I go on.",
		}).Draw(t, "then"))
	}
	return strings.Join(append(lines, "then say "+name+" is done."), "\n")
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// TestTreesKilledAnywhere runs random trees of sub-agents, cuts all their sessions at
// each border between two records and at sampled bytes, as kill -9 would, and goes on
// with each piece. A strict provider takes every request, no call is started twice, every
// operation comes to an end of which the model is told, no budget is exceeded by more
// than one call of each agent, and nothing goes on afterwards.
func TestTreesKilledAnywhere(t *testing.T) {
	trees := 1
	small := []int{47, 85, 131} // each has a fork, a change of model and a tool in the background
	if os.Getenv("MEERKAT_KILL_STRIDE") != "" {
		trees = 12
	}
	for n := range trees {
		for i, model := range treeModels {
			t.Run(fmt.Sprintf("%d/%s", n, model), func(t *testing.T) {
				plan := rapid.Custom(func(t *rapid.T) string { return drawPlan(t, 2, "a") }).Example(100*n + small[i])
				killTree(t, model, plan, rand.New(rand.NewPCG(uint64(n), uint64(i)))) //nolint:gosec // not negative
			})
		}
	}
}

// treeBudget is the budget of the root in model calls, enough for most trees.
const treeBudget = 60

func killTree(t *testing.T, model, plan string, random *rand.Rand) {
	t.Helper()
	dir := t.TempDir()
	run := newTreeRun(t, model, dir)
	log := &journal{Store: jsonl.New(dir, nil).SyncEvery(-1)}
	r, err := build(t, run.builder.WithStore(log)).Run(t.Context(), plan)
	if err != nil && !isTreeEnd(err) || len(run.strict.refused) > 0 {
		t.Fatalf("%v; refused %v; plan:\n%s", err, run.strict.refused, plan)
	}
	whole := readLines(t, dir)
	checked := 0
	for cut := 1; cut <= len(log.order); cut++ {
		piece := piecesOf(whole, log.order[:cut], 0)
		checkTree(t, treeModels[(slices.Index(treeModels, model)+max(0, cut%4-1))%len(treeModels)], r.SessionID, piece,
			[]string{"", "Go on."}[cut%2])
		if line := whole[log.order[cut-1]]; cut%5 == 0 && len(line) > 0 {
			torn := piecesOf(whole, log.order[:cut], 1+random.IntN(40))
			checkTree(t, model, r.SessionID, torn, "")
			checked++
		}
		checked++
		if t.Failed() {
			t.Fatalf("cut behind record %d of %d; plan:\n%s", cut, len(log.order), plan)
		}
	}
	t.Logf("%d sessions, %d records, %d pieces; %d forks, %d models, %d tools in the background", len(whole),
		len(log.order), checked, strings.Count(plan, "fork "), strings.Count(plan, "model"),
		strings.Count(plan, "start_tool"))
}

// isTreeEnd reports whether a run may end so: by its budget.
func isTreeEnd(err error) bool { return errors.As(err, new(*session.BudgetExceededError)) }

type treeRun struct {
	builder *meerkat.AgentBuilder
	strict  *listening
	runs    int
}

func newTreeRun(t *testing.T, model, dir string) *treeRun {
	t.Helper()
	r := &treeRun{strict: &listening{RoundTripper: simulator.Transport(simulator.New(simulator.Config{Seed: "trees",
		Level: rule.Strict}))}}
	r.builder = builderOver(dir, model, r.strict,
		&r.runs).WithMaxParallelTools(1).WithLimits(session.Limits{MaxTurns: treeBudget}).
		WithSubAgents(meerkat.SubAgents{Limits: ops.ConcurrencyLimits{MaxConcurrentAgents: 16}})
	return r
}

// readLines returns the records of each session in a folder, as lines.
func readLines(t *testing.T, dir string) map[session.ID][][]byte {
	t.Helper()
	infos, err := jsonl.New(dir, nil).List(t.Context(), session.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[session.ID][][]byte{}
	for _, info := range infos {
		data, err := os.ReadFile(jsonl.New(dir, nil).Path(info.ID))
		if err != nil {
			t.Fatal(err)
		}
		all[info.ID] = bytes.SplitAfter(data, []byte("\n"))
	}
	return all
}

// piecesOf returns what a kill leaves of each session: the records of order, the last one
// without torn bytes at its end.
func piecesOf(whole map[session.ID][][]byte, order []session.ID, torn int) map[session.ID][]byte {
	counts := map[session.ID]int{}
	for _, id := range order {
		counts[id]++
	}
	pieces := map[session.ID][]byte{}
	for id, n := range counts {
		pieces[id] = bytes.Join(whole[id][:n], nil)
	}
	last := order[len(order)-1]
	if n := len(pieces[last]) - torn; torn > 0 && counts[last] > 1 && torn < len(whole[last][counts[last]-1]) {
		pieces[last] = pieces[last][:n]
	}
	return pieces
}

// checkTree resumes the root of a tree in pieces.
func checkTree(t *testing.T, model string, root session.ID, pieces map[session.ID][]byte, prompt string) {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	before, background := 0, 0
	for id, data := range pieces {
		path := jsonl.New(dir, nil).Path(id)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
		before += len(startedCalls(t, data))
		background += backgroundCalls(data)
	}
	run := newTreeRun(t, model, dir)
	a := build(t, run.builder)
	_, err = a.Resume(t.Context(), root, prompt)
	if err != nil && !isTreeEnd(err) && !(prompt == "" && errors.Is(err, agent.ErrNothingToContinue)) {
		t.Errorf("prompt %q: %v", prompt, err)
	}
	if len(run.strict.refused) > 0 {
		t.Errorf("the provider refused %v", run.strict.refused)
	}
	checkNothingRuns(t)
	started := checkTreeRecords(t, dir, root, err)
	for _, lines := range readLines(t, dir) {
		background -= backgroundCalls(bytes.Join(lines, nil))
	}
	if fresh := started - before - background; run.runs > fresh {
		t.Errorf("%d calls ran, %d were recorded as started: one of an earlier run was made again", run.runs, fresh)
	}
}

// backgroundCalls counts the tool calls in the background that the records say were
// submitted.
func backgroundCalls(data []byte) (n int) {
	for line := range bytes.Lines(data) {
		r, err := session.DecodeRecord(line)
		if o, ok := r.(session.Operation); err == nil && ok && o.State == session.OperationSubmitted &&
			bytes.Contains(o.Spec, []byte(`"kind":"`+string(ops.ToolCall)+`"`)) {
			n++
		}
	}
	return n
}

// startedCalls returns the tool calls that the records say were started.
func startedCalls(t *testing.T, data []byte) map[string]int {
	t.Helper()
	started := map[string]int{}
	for line := range bytes.Lines(data) {
		r, err := session.DecodeRecord(line)
		if err != nil {
			continue // torn
		}
		if c, ok := r.(session.Tool); ok && c.Status == "running" && c.Name == "echo" {
			started[fmt.Sprint(c.Message, c.CallID)]++
		}
	}
	return started
}

// checkTreeRecords holds the sessions of a tree to what must hold whatever was cut off. It
// returns how many calls are recorded as started.
func checkTreeRecords(t *testing.T, dir string, root session.ID, ended error) (started int) {
	t.Helper()
	store := jsonl.New(dir, nil)
	turns := 0
	for id := range readLines(t, dir) {
		data, err := os.ReadFile(store.Path(id))
		if err != nil {
			t.Fatal(err)
		}
		calls := startedCalls(t, data)
		started += len(calls)
		for call, n := range calls {
			if n > 1 {
				t.Errorf("session %s: call %s was started %d times", id, call, n)
			}
		}
		s, err := store.Load(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		own := map[string]bool{}
		for _, c := range s.Calls {
			isOwn := slices.ContainsFunc(s.Runs,
				func(r session.Run) bool { return r.ID == c.RunID }) // and not copied into a fork
			if c.Error == "" && isOwn {
				own[fmt.Sprint(c.RunID, c.Turn)] = true
			}
		}
		turns += len(own)
		if b := s.Budget; b != nil && b.Limits.MaxTurns > 0 && len(own) > b.Limits.MaxTurns+1 {
			t.Errorf("session %s made %d calls, its budget is %d", id, len(own), b.Limits.MaxTurns)
		}
	}
	if turns > treeBudget+len(readLines(t, dir)) {
		t.Errorf("the tree made %d calls, its budget is %d", turns, treeBudget)
	}
	s, err := store.Load(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range s.Operations() {
		if ended == nil && (!o.Delivered || o.End == nil) {
			t.Errorf("operation %s (%s) is open after the run: %+v", o.ID, o.Label, o.End)
		}
	}
	checkDeliveredOnce(t, &s)
	return started
}

// checkDeliveredOnce holds that the model is told of each operation's end in one message
// only, tool results aside.
func checkDeliveredOnce(t *testing.T, s *session.Session) {
	t.Helper()
	told := map[session.ID]int{}
	for i := range s.Messages {
		if m := &s.Messages[i]; m.Role == "user" && strings.HasPrefix(m.Content, ops.ResultsPrefix) {
			for _, o := range s.Operations() {
				told[o.ID] += strings.Count(m.Content, `{"id":"`+string(o.ID))
			}
		}
	}
	for _, id := range slices.Collect(maps.Keys(told)) {
		if told[id] > 1 {
			t.Errorf("the model was told %d times that operation %s has ended", told[id], id)
		}
	}
}

// checkNothingRuns fails if the work of an operation goes on.
func checkNothingRuns(t *testing.T) {
	t.Helper()
	buf := make([]byte, 1<<20)
	if stacks := string(buf[:runtime.Stack(buf, true)]); strings.Contains(stacks, "agent.RunOperation") {
		t.Errorf("a sub-agent goes on after the run:\n%s", stacks)
	}
}
