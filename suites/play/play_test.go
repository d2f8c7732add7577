package play

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
	"github.com/meerkat-go/conformance/conform/scenario"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/specs"
)

func TestMain(m *testing.M) {
	if code, acted := ActAs(context.Background(), miniature{}.main, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()); acted {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

func find(t *testing.T, name string) scenario.Play {
	t.Helper()
	all, err := specs.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range scenario.Plays(all) {
		if p.Name() == name {
			return p
		}
	}
	t.Fatalf("%s: no such play", name)
	return scenario.Play{}
}

func stage(t *testing.T, m Main) *Stage {
	t.Helper()
	s, err := NewStage(Rkat{Main: m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// taped makes a cassette of p with the miniature agent and returns its home.
func taped(t *testing.T, p scenario.Play) string {
	t.Helper()
	dir := t.TempDir()
	if changed, err := stage(t, miniature{}.main).Record(t.Context(), p, dir); err != nil || !changed {
		t.Fatalf("changed=%t: %v", changed, err)
	}
	return dir
}

func TestRecordAndPerform(t *testing.T) {
	for _, name := range []string{"thinking-tool-loop/anthropic", "resume-tool-loop/anthropic", "failing-tool/anthropic"} {
		p := find(t, name)
		dir := taped(t, p)
		done := stage(t, miniature{}.main).Perform(t.Context(), p, os.DirFS(dir))
		if done.Err != nil || len(done.Trouble) > 0 {
			t.Fatalf("%s: %v %q", name, done.Err, done.Trouble)
		}
		ev := done.Evidence
		if len(ev.Process) != len(p.Steps()) || ev.Case != name || ev.Source != evidence.SourceCassette {
			t.Errorf("%s: %d processes, case %s, source %s", name, len(ev.Process), ev.Case, ev.Source)
		}
		for i, x := range ev.Exchanges {
			wantProcess := i * len(ev.Process) / len(ev.Exchanges) // these plays divide evenly
			if x.Missed || x.Process != wantProcess || x.Response.Status != 200 || len(x.Request.Body) == 0 {
				t.Errorf("%s: exchange %d: missed=%t process=%d status=%d", name, i, x.Missed, x.Process, x.Response.Status)
			}
		}
		for i, pr := range ev.Process {
			if pr.Resumed != (i > 0) || pr.ExitCode != 0 {
				t.Errorf("%s: process %d: resumed=%t exit=%d", name, i, pr.Resumed, pr.ExitCode)
			}
		}
	}
}

// TestRecordHoldsNoSecretAndSaysWhoAnswered looks at the file.
func TestRecordHoldsNoSecretAndSaysWhoAnswered(t *testing.T) {
	p := find(t, "thinking-tool-loop/anthropic")
	path := filepath.Join(taped(t, p), p.Cassette())
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "made-up-key") {
		t.Error("the key is in the cassette")
	}
	tape, err := cassette.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if tape.Meta().Provenance != cassette.ProvenanceSimulator || !tape.Meta().Nominal() || tape.Verify() != nil || tape.Len() != 2 {
		t.Errorf("%+v, %d interactions, %v", tape.Meta(), tape.Len(), tape.Verify())
	}
}

// TestRecordAgainChangesNothing holds that make cassettes leaves a clean tree.
func TestRecordAgainChangesNothing(t *testing.T) {
	p := find(t, "resume-tool-loop/anthropic")
	dir := taped(t, p)
	before, _ := os.ReadFile(filepath.Join(dir, p.Cassette()))
	changed, err := stage(t, miniature{}.main).Record(t.Context(), p, dir)
	after, _ := os.ReadFile(filepath.Join(dir, p.Cassette()))
	if err != nil || changed || string(before) != string(after) {
		t.Errorf("changed=%t: %v", changed, err)
	}
}

// TestRecordRefusesWhatIsNotTheScript holds that a failed recording leaves the
// old cassette alone.
func TestRecordRefusesWhatIsNotTheScript(t *testing.T) {
	p := find(t, "thinking-tool-loop/anthropic")
	dir := taped(t, p)
	path := filepath.Join(dir, p.Cassette())
	before, _ := os.ReadFile(path)
	broken := miniature{spoil: func([]message) []message { return nil }}
	if _, err := stage(t, broken.main).Record(t.Context(), p, dir); err == nil || !strings.Contains(err.Error(), "exited 1") {
		t.Errorf("got %v, want the step that failed", err)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("the old cassette is gone")
	}
}

// TestMissIsEvidence holds that a request nobody recorded ends up, explained,
// in the evidence and in the trouble.
func TestMissIsEvidence(t *testing.T) {
	p := find(t, "thinking-tool-loop/anthropic")
	dir := taped(t, p)
	done := stage(t, miniature{spoil: forget}.main).Perform(t.Context(), p, os.DirFS(dir))
	if done.Err != nil || len(done.Evidence.Exchanges) != 2 {
		t.Fatalf("%v, %d exchanges", done.Err, len(done.Evidence.Exchanges))
	}
	if done.Evidence.Exchanges[0].Missed || !done.Evidence.Exchanges[1].Missed {
		t.Error("the second exchange, and only it, was missed")
	}
	if all := strings.Join(done.Trouble, "\n"); !strings.Contains(all, "messages[1]") || !strings.Contains(all, "exited 1") {
		t.Errorf("trouble does not explain the miss:\n%s", all)
	}
}

func TestUnaskedRepliesAreTrouble(t *testing.T) {
	p := find(t, "thinking-tool-loop/anthropic")
	done := stage(t, miniature{once: true}.main).Perform(t.Context(), p, os.DirFS(taped(t, p)))
	if len(done.Trouble) != 1 || !strings.Contains(done.Trouble[0], "1 recorded replies were never asked for") {
		t.Errorf("%q", done.Trouble)
	}
}

// TestSimulatorAnswers holds that a play needs no cassette, and that each request
// is known to be of its step.
func TestSimulatorAnswers(t *testing.T) {
	for _, name := range []string{"thinking-tool-loop/anthropic", "resume-tool-loop/anthropic"} {
		p := find(t, name)
		done := stage(t, miniature{}.main).Perform(t.Context(), p, nil)
		if done.Err != nil || len(done.Trouble) > 0 || done.Source != evidence.SourceSimulator || done.Cassette != "" {
			t.Fatalf("%s: %v %q %s", name, done.Err, done.Trouble, done.Source)
		}
		ev := done.Evidence
		if done.Case != name+"@simulator" || ev.Case != done.Case || ev.Source != done.Source || len(ev.Exchanges) < 2 {
			t.Errorf("%s: %s %s, %d exchanges", done.Case, ev.Case, ev.Source, len(ev.Exchanges))
		}
		for i, x := range ev.Exchanges {
			if want := i * len(ev.Process) / len(ev.Exchanges); x.Missed || x.Process != want || x.Response.Status != 200 {
				t.Errorf("%s: exchange %d: missed=%t process=%d status=%d", name, i, x.Missed, x.Process, x.Response.Status)
			}
		}
	}
}

// TestSimulatorRefuses holds that what a provider would refuse is refused, in its
// words, and that an agent that stops early is noticed.
func TestSimulatorRefuses(t *testing.T) {
	p := find(t, "thinking-tool-loop/anthropic")
	done := stage(t, miniature{spoil: forget}.main).Perform(t.Context(), p, nil)
	if done.Err != nil || len(done.Evidence.Exchanges) != 2 || done.Evidence.Exchanges[1].Response.Status != 400 {
		t.Fatalf("%v %q %d exchanges", done.Err, done.Trouble, len(done.Evidence.Exchanges))
	}
	if all := strings.Join(done.Trouble, "\n"); !strings.Contains(all, "exited 1") || !strings.Contains(all, "Expected `thinking`") {
		t.Errorf("trouble does not explain the refusal:\n%s", all)
	}
	done = stage(t, miniature{once: true}.main).Perform(t.Context(), p, nil)
	if len(done.Trouble) != 1 || done.Trouble[0] != "the model's last calls were never answered" {
		t.Errorf("%q", done.Trouble)
	}
	done = stage(t, miniature{}.main).Perform(t.Context(), find(t, "unsupported-model/anthropic"), nil)
	if done.Err != nil || len(done.Trouble) > 0 || len(done.Evidence.Exchanges) != 0 {
		t.Errorf("%v %q", done.Err, done.Trouble)
	}
}

func TestSilentPlay(t *testing.T) {
	p := find(t, "unsupported-model/anthropic")
	done := stage(t, miniature{}.main).Perform(t.Context(), p, os.DirFS(t.TempDir()))
	if done.Err != nil || len(done.Trouble) > 0 || len(done.Evidence.Exchanges) != 0 || done.Evidence.Process[0].ExitCode == 0 {
		t.Errorf("%v %q %+v", done.Err, done.Trouble, done.Evidence)
	}
	talkative := func(ctx context.Context, args []string, in io.Reader, out, errs io.Writer, env []string) int {
		c, err := clientFor(env)
		if err != nil {
			t.Error(err)
			return 1
		}
		defer c.CloseIdleConnections()
		_, _ = ask(ctx, c, "claude-3", "", []message{{"user", []map[string]any{{"type": "text", "text": "hi"}}}})
		return 1
	}
	done = stage(t, talkative).Perform(t.Context(), p, os.DirFS(t.TempDir()))
	if len(done.Evidence.Exchanges) != 1 || !done.Evidence.Exchanges[0].Missed || !strings.Contains(strings.Join(done.Trouble, ";"), "sent 1 requests") {
		t.Errorf("%q %+v", done.Trouble, done.Evidence.Exchanges)
	}
	if body := done.Evidence.Exchanges[0].Request.Body; !strings.Contains(string(body), "claude-3") {
		t.Errorf("the request is kept without its body: %q", body)
	}
}

// TestCrashIsTheAgents holds that an agent that panics is one that failed.
func TestCrashIsTheAgents(t *testing.T) {
	p := find(t, "thinking-tool-loop/anthropic")
	crash := func(context.Context, []string, io.Reader, io.Writer, io.Writer, []string) int { panic("oops") }
	done := stage(t, crash).Perform(t.Context(), p, os.DirFS(taped(t, p)))
	if done.Err != nil || done.Evidence.Process[0].ExitCode != panicked || !strings.Contains(string(done.Evidence.Process[0].Stderr), "oops") {
		t.Errorf("%v %+v", done.Err, done.Evidence.Process)
	}
}

func TestHarnessFaults(t *testing.T) {
	p := find(t, "thinking-tool-loop/anthropic")
	done := stage(t, miniature{}.main).Perform(t.Context(), p, os.DirFS(t.TempDir()))
	if done.Err == nil || !strings.Contains(done.Err.Error(), "make cassettes") {
		t.Errorf("a missing cassette: %v", done.Err)
	}
	t.Setenv(actAs, actRkat)
	if _, err := NewStage(Rkat{}); err == nil || !strings.Contains(err.Error(), "ActAs") {
		t.Errorf("a program that forgot to act: %v", err)
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
	p := scenario.Play{Scenario: &s, Target: specs.Target{Provider: "anthropic", Model: "claude-opus-4-5"}}
	s.Targets = []specs.Target{p.Target}
	lose := func(messages []message) []message {
		lost, err := json.Marshal(messages)
		if err != nil {
			t.Fatal(err)
		}
		words := specs.Nonce(scenario.Seed, "asked")
		var out []message
		if err := json.Unmarshal(bytes.ReplaceAll(lost, []byte(`"content":"`+words), []byte(`"content":"lost`)), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, c := range []struct {
		agent miniature
		want  string
	}{
		{miniature{}, ""},
		{miniature{mute: true}, `step 0 does not say "` + specs.Nonce(scenario.Seed, "answer")},
		{miniature{spoil: lose}, `scenario answer-comes-through, turn 2 (line `},
	} {
		_, err := stage(t, c.agent.main).Record(t.Context(), p, t.TempDir())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
