package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/specs"
)

func TestMain(m *testing.M) {
	if code, isSubject := RunIfSubject(context.Background(), miniature{}.main, os.Args[1:], os.Stdin, os.Stdout,
		os.Stderr, os.Environ()); isSubject {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

func findCase(t *testing.T, name string) Case {
	t.Helper()
	all, err := AllCases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.Name() == name {
			return c
		}
	}
	t.Fatalf("%s: no such case", name)
	return Case{}
}

// newRunner returns a runner for the agent with the cassettes in the folder dir.
func newRunner(t *testing.T, agent Main, dir string) *Runner {
	t.Helper()
	r, err := NewRunner(Config{Subject: InProcess(agent, "", nil), Cassettes: os.DirFS(dir)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func replayWith(t *testing.T, agent Main, c Case, dir string) CaseRun {
	t.Helper()
	return newRunner(t, agent, dir).Run(t.Context(), Permutation{Case: c, Source: evidence.SourceCassette})
}

func simulateWith(t *testing.T, agent Main, c Case) CaseRun {
	t.Helper()
	return newRunner(t, agent, t.TempDir()).Run(t.Context(), Permutation{Case: c, Source: evidence.SourceSimulator})
}

// recordMiniature makes a cassette of c with the miniature agent and returns its
// folder.
func recordMiniature(t *testing.T, c Case) string {
	t.Helper()
	dir := t.TempDir()
	if changed, err := newRunner(t, miniature{}.main, dir).Record(t.Context(), c, dir); err != nil || !changed {
		t.Fatalf("changed=%t: %v", changed, err)
	}
	return dir
}

func TestRecordAndRun(t *testing.T) {
	for _, name := range []string{"thinking-tool-loop/anthropic", "resume-tool-loop/anthropic",
		"failing-tool/anthropic"} {
		c := findCase(t, name)
		run := replayWith(t, miniature{}.main, c, recordMiniature(t, c))
		if run.Err != nil || len(run.Deviations) > 0 {
			t.Fatalf("%s: %v %q", name, run.Err, run.Deviations)
		}
		ev := run.Evidence
		if len(ev.Process) != len(c.Steps(committedSeed)) || ev.Case != name || ev.Source != evidence.SourceCassette {
			t.Errorf("%s: %d processes, case %s, source %s", name, len(ev.Process), ev.Case, ev.Source)
		}
		compareExchanges(t, name, ev)
		for i, pr := range ev.Process {
			if pr.Resumed != (i > 0) || pr.ExitCode != 0 {
				t.Errorf("%s: process %d: resumed=%t exit=%d", name, i, pr.Resumed, pr.ExitCode)
			}
		}
	}
}

// compareExchanges holds that all exchanges were answered and are known to be of
// their process. The cases of its callers have as many exchanges in each process.
func compareExchanges(t *testing.T, name string, ev *evidence.Evidence) {
	t.Helper()
	for i, x := range ev.Exchanges {
		wantProcess := i * len(ev.Process) / len(ev.Exchanges)
		if x.Missed || x.Process != wantProcess || x.Response.Status != 200 || len(x.Request.Body) == 0 {
			t.Errorf("%s: exchange %d: missed=%t process=%d status=%d", name, i, x.Missed, x.Process, x.Response.Status)
		}
	}
}

// TestRecordingHoldsNoSecretAndNamesItsSource looks at the file.
func TestRecordingHoldsNoSecretAndNamesItsSource(t *testing.T) {
	c := findCase(t, "thinking-tool-loop/anthropic")
	dir := recordMiniature(t, c)
	path := filepath.Join(dir, c.CassettePath())
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "made-up-key") {
		t.Error("the key is in the cassette")
	}
	recording, err := cassette.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if recording.Len() != 2 {
		t.Errorf("%d interactions", recording.Len())
	}
	if err := VerifyCassette(c, os.DirFS(dir)); err != nil {
		t.Error(err)
	}
}

// TestRecordAgainChangesNothing holds that make cassettes leaves a clean tree.
func TestRecordAgainChangesNothing(t *testing.T) {
	c := findCase(t, "resume-tool-loop/anthropic")
	dir := recordMiniature(t, c)
	before, _ := os.ReadFile(filepath.Join(dir, c.CassettePath()))
	changed, err := newRunner(t, miniature{}.main, dir).Record(t.Context(), c, dir)
	after, _ := os.ReadFile(filepath.Join(dir, c.CassettePath()))
	if err != nil || changed || string(before) != string(after) {
		t.Errorf("changed=%t: %v", changed, err)
	}
}

// TestRecordRefusesDeviations holds that a failed recording leaves the old
// cassette alone.
func TestRecordRefusesDeviations(t *testing.T) {
	c := findCase(t, "thinking-tool-loop/anthropic")
	dir := recordMiniature(t, c)
	path := filepath.Join(dir, c.CassettePath())
	before, _ := os.ReadFile(path)
	broken := miniature{spoil: func([]message) []message { return nil }}
	if _, err := newRunner(t, broken.main, dir).Record(t.Context(), c, dir); err == nil ||
		!strings.Contains(err.Error(), "exited 1") {
		t.Errorf("got %v, want the step that failed", err)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("the old cassette is gone")
	}
}

// TestMissIsEvidence holds that a request that is not in the cassette ends up,
// explained, in the evidence and in the deviations.
func TestMissIsEvidence(t *testing.T) {
	c := findCase(t, "thinking-tool-loop/anthropic")
	run := replayWith(t, miniature{spoil: dropThinking}.main, c, recordMiniature(t, c))
	if run.Err != nil || len(run.Evidence.Exchanges) != 2 {
		t.Fatalf("%v, %d exchanges", run.Err, len(run.Evidence.Exchanges))
	}
	if run.Evidence.Exchanges[0].Missed || !run.Evidence.Exchanges[1].Missed {
		t.Error("the second exchange, and only it, was missed")
	}
	if all := strings.Join(run.Deviations, "\n"); !strings.Contains(all, "messages[1]") ||
		!strings.Contains(all, "exited 1") {
		t.Errorf("the deviations do not explain the miss:\n%s", all)
	}
}

func TestUnusedRepliesAreDeviations(t *testing.T) {
	c := findCase(t, "thinking-tool-loop/anthropic")
	run := replayWith(t, miniature{once: true}.main, c, recordMiniature(t, c))
	if len(run.Deviations) != 1 || !strings.Contains(run.Deviations[0], "1 recorded replies were never asked for") {
		t.Errorf("%q", run.Deviations)
	}
}

// TestSimulatorAnswers holds that a case needs no cassette, and that each request
// is known to be of its step.
func TestSimulatorAnswers(t *testing.T) {
	for _, name := range []string{"thinking-tool-loop/anthropic", "resume-tool-loop/anthropic"} {
		run := simulateWith(t, miniature{}.main, findCase(t, name))
		if run.Err != nil || len(run.Deviations) > 0 || run.Source != evidence.SourceSimulator || run.Cassette != "" {
			t.Fatalf("%s: %v %q %s", name, run.Err, run.Deviations, run.Source)
		}
		ev := run.Evidence
		if run.Name != name+"@simulator" || ev.Case != run.Name || ev.Source != run.Source || len(ev.Exchanges) < 2 {
			t.Errorf("%s: %s %s, %d exchanges", run.Name, ev.Case, ev.Source, len(ev.Exchanges))
		}
		compareExchanges(t, name, ev)
	}
}

// TestSimulatorRefuses holds that what a provider would refuse is refused, in its
// words, and that an agent that stops early is noticed.
func TestSimulatorRefuses(t *testing.T) {
	c := findCase(t, "thinking-tool-loop/anthropic")
	run := simulateWith(t, miniature{spoil: dropThinking}.main, c)
	if run.Err != nil || len(run.Evidence.Exchanges) != 2 || run.Evidence.Exchanges[1].Response.Status != 400 {
		t.Fatalf("%v %q %d exchanges", run.Err, run.Deviations, len(run.Evidence.Exchanges))
	}
	if all := strings.Join(run.Deviations, "\n"); !strings.Contains(all, "exited 1") ||
		!strings.Contains(all, "Expected `thinking`") {
		t.Errorf("the deviations do not explain the refusal:\n%s", all)
	}
	run = simulateWith(t, miniature{once: true}.main, c)
	if len(run.Deviations) != 1 || run.Deviations[0] != "the model's last calls were never answered" {
		t.Errorf("%q", run.Deviations)
	}
	run = simulateWith(t, miniature{}.main, findCase(t, "unsupported-model/anthropic"))
	if run.Err != nil || len(run.Deviations) > 0 || len(run.Evidence.Exchanges) != 0 {
		t.Errorf("%v %q", run.Err, run.Deviations)
	}
}

// TestCaseWithoutTraffic holds that a request in a case that must not cause any
// is evidence and a deviation.
func TestCaseWithoutTraffic(t *testing.T) {
	c := findCase(t, "unsupported-model/anthropic")
	run := replayWith(t, miniature{}.main, c, t.TempDir())
	if run.Err != nil || len(run.Deviations) > 0 || len(run.Evidence.Exchanges) != 0 ||
		run.Evidence.Process[0].ExitCode == 0 {
		t.Errorf("%v %q %+v", run.Err, run.Deviations, run.Evidence)
	}
	asksAnyway := func(ctx context.Context, _ []string, _ io.Reader, _, _ io.Writer, env []string) int {
		client, err := clientFor(env)
		if err != nil {
			t.Error(err)
			return 1
		}
		defer client.CloseIdleConnections()
		_, _ = miniature{}.sendMessages(ctx, client, "claude-3", "",
			[]message{{"user", []map[string]any{{"type": "text", "text": "hi"}}}})
		return 1
	}
	run = replayWith(t, asksAnyway, c, t.TempDir())
	if len(run.Evidence.Exchanges) != 1 || !run.Evidence.Exchanges[0].Missed ||
		!strings.Contains(strings.Join(run.Deviations, ";"), "sent 1 requests") {
		t.Errorf("%q %+v", run.Deviations, run.Evidence.Exchanges)
	}
	if body := run.Evidence.Exchanges[0].Request.Body; !strings.Contains(string(body), "claude-3") {
		t.Errorf("the request is kept without its body: %q", body)
	}
}

// TestPanicOfTheAgentIsItsCrash holds that an agent that panics is one that
// failed.
func TestPanicOfTheAgentIsItsCrash(t *testing.T) {
	c := findCase(t, "thinking-tool-loop/anthropic")
	crash := func(context.Context, []string, io.Reader, io.Writer, io.Writer, []string) int { panic("oops") }
	run := replayWith(t, crash, c, recordMiniature(t, c))
	if run.Err != nil || run.Evidence.Process[0].ExitCode != panicExit ||
		!strings.Contains(string(run.Evidence.Process[0].Stderr), "oops") {
		t.Errorf("%v %+v", run.Err, run.Evidence.Process)
	}
}

// TestExecutable holds that a program that is started for every step is judged
// like one that runs in this process.
func TestExecutable(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := findCase(t, "resume-tool-loop/anthropic")
	runner, err := NewRunner(Config{Subject: startsItself{Executable(self, "", nil)}})
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	run := runner.Run(t.Context(), Permutation{Case: c, Source: evidence.SourceSimulator})
	if run.Err != nil || len(run.Deviations) > 0 || len(run.Evidence.Process) != 2 {
		t.Errorf("%v %q %+v", run.Err, run.Deviations, run.Evidence)
	}
}

// startsItself makes this test program act as the agent.
type startsItself struct{ Subject }

func (s startsItself) Open(ctx context.Context, room Room) (Session, error) {
	room.Env = append(slices.Clip(room.Env), runAsVariable+"="+runAsRkat)
	return s.Subject.Open(ctx, room)
}

func TestHarnessFaults(t *testing.T) {
	run := replayWith(t, miniature{}.main, findCase(t, "thinking-tool-loop/anthropic"), t.TempDir())
	if run.Err == nil || !strings.Contains(run.Err.Error(), "make cassettes") {
		t.Errorf("a missing cassette: %v", run.Err)
	}
	missing, err := NewRunner(Config{Subject: Executable(filepath.Join(t.TempDir(), "nowhere"), "", nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer missing.Close()
	if run := missing.Run(t.Context(), Permutation{Case: findCase(t, "cut-stream/openai"),
		Source: evidence.SourceSimulator}); run.Err == nil || !strings.Contains(run.Err.Error(), "nowhere") {
		t.Errorf("a program that is not there: %v", run.Err)
	}
	t.Setenv(runAsVariable, runAsRkat)
	if _, err := NewRunner(Config{Subject: InProcess(nil, "", nil)}); err == nil ||
		!strings.Contains(err.Error(), "RunIfSubject") {
		t.Errorf("a program that forgot RunIfSubject: %v", err)
	}
}

// TestAnswerComesThrough holds that the words of a scenario are the same on both
// sides, and that an agent that does not say them, or sends others, is noticed.
func TestAnswerComesThrough(t *testing.T) {
	all, err := specs.Simulated()
	if err != nil {
		t.Fatal(err)
	}
	s := *all[slices.IndexFunc(all, func(s *specs.Scenario) bool { return s.Name == "answer-comes-through" })]
	c := Case{Scenario: &s, Target: specs.Target{Provider: "anthropic", Model: "claude-opus-4-5"}}
	s.Targets = []specs.Target{c.Target}
	lose := func(messages []message) []message {
		lost, err := json.Marshal(messages)
		if err != nil {
			t.Fatal(err)
		}
		words := specs.Nonce(committedSeed, "asked")
		var out []message
		if err := json.Unmarshal(bytes.ReplaceAll(lost, []byte(`"content":"`+words), []byte(`"content":"lost`)), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, tc := range []struct {
		agent miniature
		want  string
	}{
		{miniature{}, ""},
		{miniature{mute: true}, `step 0 does not say "` + specs.Nonce(committedSeed, "answer")},
		{miniature{spoil: lose}, `scenario answer-comes-through, turn 2 (line `},
	} {
		dir := t.TempDir()
		_, err := newRunner(t, tc.agent.main, dir).Record(t.Context(), c, dir)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
}

// TestKeyInBody holds that a key in the body is found, though the evidence holds no key.
func TestKeyInBody(t *testing.T) {
	rules, err := report.RulesOf(specs.CurrentSet)
	if err != nil {
		t.Fatal(err)
	}
	c := findCase(t, "thinking-tool-loop/anthropic")
	for want, agent := range map[report.Verdict]miniature{report.Pass: {user: "a-user-of-this-test"},
		report.Fail: {user: fakeKeys()[0][1]}} {
		run := simulateWith(t, agent.main, c)
		if got := Judge(run, rules)["HYG-004/key-in-body"]; got.Verdict != want {
			t.Errorf("%s, want %s: %v %q", got.Verdict, want, run.Err, run.Deviations)
		}
		for _, x := range run.Evidence.Exchanges {
			if bytes.Contains(x.Request.Body, []byte("made-up-key")) {
				t.Errorf("exchange %d holds a key", x.Index)
			}
		}
	}
}
