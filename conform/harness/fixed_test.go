package harness

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

// fixedSubject sends fixed bytes, by case, and reads no reply. Without bytes it does
// nothing and exits 0.
type fixedSubject map[string]fixedTraffic

type fixedTraffic struct {
	bodies [][]byte
	stdout []byte
}

func (s fixedSubject) About() About {
	return About{Subject: report.Subject{Name: "fixed", Kind: "command"}, Providers: []string{"anthropic"},
		Abilities: []specs.Ability{specs.AbilityTools, specs.AbilityModel, specs.AbilitySystem}}
}

func (s fixedSubject) Open(_ context.Context, room Room) (Session, error) {
	return fixedSession{s[room.Case.Name()], room}, nil
}

type fixedSession struct {
	traffic fixedTraffic
	room    Room
}

func (s fixedSession) Close() error { return nil }

func (s fixedSession) RunStep(ctx context.Context, _ Step) (evidence.Process, error) {
	client, err := clientFor(s.room.Env)
	if err != nil {
		return evidence.Process{}, err
	}
	defer client.CloseIdleConnections()
	for _, body := range s.traffic.bodies {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.anthropic.com/v1/messages",
			bytes.NewReader(body))
		if err != nil {
			return evidence.Process{}, err
		}
		r.Header = http.Header{"X-Api-Key": {"conform-made-up-key-anthropic"}, "Anthropic-Version": {"2023-06-01"},
			"Content-Type": {"application/json"}}
		reply, err := client.Do(r)
		if err != nil {
			return evidence.Process{}, err
		}
		_, _ = io.Copy(io.Discard, reply.Body)
		_ = reply.Body.Close()
	}
	return evidence.Process{Stdout: s.traffic.stdout}, nil
}

// strangeSubject is an agent of which nothing is known.
type strangeSubject struct{ Subject }

func (s strangeSubject) About() About {
	about := s.Subject.About()
	about.HoldsAll = false
	return about
}

// cannedTraffic is what the miniature agent sends and prints under the seed "one", in the
// scenarios as they are run for a foreign agent: their calls have other ids.
func cannedTraffic(t *testing.T, names ...string) fixedSubject {
	t.Helper()
	runner, err := NewRunner(Config{Subject: strangeSubject{InProcess(miniature{}.main, "", nil)}, Seed: "one"})
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	canned := fixedSubject{}
	for _, name := range names {
		lenient := findCase(t, name)
		lenient.Scenario = lenient.Scenario.Lenient() // as [Run] runs it for agents that hold not all
		run := runner.Run(t.Context(), Permutation{Case: lenient, Source: evidence.SourceSimulator})
		if run.Err != nil || len(run.Deviations) > 0 || len(run.Evidence.Process) != 1 {
			t.Fatalf("%s: %v %q", name, run.Err, run.Deviations)
		}
		traffic := fixedTraffic{stdout: run.Evidence.Process[0].Stdout}
		for _, x := range run.Evidence.Exchanges {
			traffic.bodies = append(traffic.bodies, x.Request.Body)
		}
		canned[name] = traffic
	}
	return canned
}

// runFixed runs a fixed subject under a seed and returns the verdict of each case.
func runFixed(t *testing.T, subject fixedSubject, seed, filter string) map[string]report.Verdict {
	t.Helper()
	o, err := runWithoutCassettes(t, Options{Config: Config{Subject: subject, Seed: seed},
		Sources: []evidence.Source{evidence.SourceSimulator}, Filter: filter})
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]report.Verdict{}
	for _, c := range o.Cases {
		verdicts[c.Name] = c.Verdict
	}
	if len(verdicts) == 0 {
		t.Fatal("no case was run")
	}
	return verdicts
}

// A correct conversation that was recorded under another seed never passes: its sender
// has read no reply.
func TestCannedSubjectNeverPasses(t *testing.T) {
	const filter = "anthropic && (thinking-tool-loop || failing-tool)"
	canned := cannedTraffic(t, "thinking-tool-loop/anthropic", "failing-tool/anthropic")
	for name, verdict := range runFixed(t, canned, "two", filter) {
		if verdict == report.Pass || verdict == "" {
			t.Errorf("%s: %q", name, verdict)
		}
	}
}

// The same conversation passes under the seed that it was recorded with: nothing but the
// seed keeps it from passing under another.
func TestCannedSubjectPassesUnderItsOwnSeed(t *testing.T) {
	const filter = "anthropic && (thinking-tool-loop || failing-tool)"
	canned := cannedTraffic(t, "thinking-tool-loop/anthropic", "failing-tool/anthropic")
	for name, verdict := range runFixed(t, canned, "one", filter) {
		if verdict != report.Pass {
			t.Errorf("%s: %q", name, verdict)
		}
	}
}

// A program that exits 0 at once passes in no case of any scenario.
func TestNullSubjectNeverPasses(t *testing.T) {
	for name, verdict := range runFixed(t, fixedSubject{}, "", "") {
		if verdict == report.Pass {
			t.Errorf("%s: %q", name, verdict)
		}
	}
}
