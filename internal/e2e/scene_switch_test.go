package e2e_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/handoff"
)

// pairs calls f with each model and each other one.
func pairs(t *testing.T, f func(t *testing.T, from, to string)) {
	t.Helper()
	for _, from := range leads {
		for _, to := range leads {
			if from != to {
				t.Run(from+" to "+to, func(t *testing.T) { f(t, from, to) })
			}
		}
	}
}

// takesOver resumes with another model and wants the request that was rendered,
// and each loss that render told as an event.
func (s *stage) takesOver(to string, prompt ...string) (sent string) {
	s.Helper()
	before := len(s.provider.asked(0))
	args := append([]string{"--last", "--model", to}, prompt...)
	body := s.rkat(0, append([]string{"render"}, args...)...).stdout
	var shown struct{ Degraded []handoff.Degradation }
	if err := json.Unmarshal([]byte(s.rkat(0, append([]string{"render", "--json"}, args...)...).stdout), &shown); err != nil {
		s.Fatal(err)
	}
	got := s.rkat(0, append([]string{"resume", "-o", "json-stream"}, args...)...)
	var told []handoff.Degradation
	for line := range strings.Lines(got.stdout) {
		var e struct {
			Type        string
			Degradation handoff.Degradation
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			s.Fatalf("%s: %v", line, err)
		}
		if e.Type == "degraded" {
			told = append(told, e.Degradation)
		}
	}
	if sent = string(s.provider.asked(before)[0]); sent+"\n" != body {
		s.Errorf("rendered\n%s\nsent\n%s", body, sent)
	}
	if len(told) == 0 || !reflect.DeepEqual(told, shown.Degraded) {
		s.Errorf("events tell %+v, render %+v", told, shown.Degraded)
	}
	return sent
}

// TestSceneSwitchInLoop: the results of one model's calls go to another one.
func TestSceneSwitchInLoop(t *testing.T) {
	pairs(t, func(t *testing.T, from, to string) {
		s := newStage(t, newStrict(t), newDesk(t))
		s.rkat(2, "run", "--model", from, "--effort", "high", "--max-turns", "1",
			`Call srv__look and srv__pay with "rent".`)
		sent := s.takesOver(to)
		for _, part := range []string{"look has rent", "pay has rent"} {
			if !strings.Contains(sent, part) {
				t.Errorf("%q is not in %s", part, sent)
			}
		}
		s.ran("look rent", "pay rent")
	})
}

// TestSceneSwitchBetweenTurns: another model takes over with a prompt, calls
// tools of its own, and the first one comes back.
func TestSceneSwitchBetweenTurns(t *testing.T) {
	pairs(t, func(t *testing.T, from, to string) {
		s := newStage(t, newStrict(t), newDesk(t))
		s.rkat(0, "run", "--model", from, "--effort", "high", `Call srv__look with "one".`)
		s.takesOver(to, `Call srv__look with "two".`)
		sent := s.takesOver(from, `Call srv__look with "three".`)
		for _, part := range []string{"look has one", "look has two"} {
			if !strings.Contains(sent, part) {
				t.Errorf("%q is not in %s", part, sent)
			}
		}
		s.ran("look one", "look two", "look three")
	})
}

// TestSceneSwitchAfterKill: another model is told what the first one's process
// left open.
func TestSceneSwitchAfterKill(t *testing.T) {
	pairs(t, func(t *testing.T, from, to string) {
		s := killedInTool(t, from)
		if sent := s.takesOver(to); strings.Count(sent, mayHaveRun) != 1 {
			t.Errorf("sent %s", sent)
		}
		s.ran("look rent", "pay rent")
	})
}

// TestSceneInterruptedInTool: an interrupt ends a run with 130; the model is told
// that the user did it.
func TestSceneInterruptedInTool(t *testing.T) {
	for _, model := range leads {
		t.Run(model, func(t *testing.T) {
			s := newStage(t, newStrict(t), newDesk(t, "pay"))
			cmd, _ := s.aside("run", "--model", model, "--effort", "high", `Call srv__pay with "rent".`)
			<-s.desk.began
			if code := s.ends(cmd, os.Interrupt); code != 130 {
				t.Errorf("exit %d", code)
			}
			s.desk.release()
			shown := s.rkat(0, "render", "--last", "Go on.")
			s.rkat(0, "resume", "--last", "Go on.")
			if sent := s.provider.asked(1); string(sent[0])+"\n" != shown.stdout {
				t.Errorf("rendered\n%s\nsent\n%s", shown.stdout, sent[0])
			}
			s.ran("pay rent", "conform_echo example")
		})
	}
}

// TestSceneInterruptedInStream: what was said until then is kept or dropped, and
// the conversation goes on.
func TestSceneInterruptedInStream(t *testing.T) {
	for _, model := range leads {
		t.Run(model, func(t *testing.T) {
			begun := turn(thinking("I think."), text("It begins"))
			begun.Stall = stall(6)
			again := turn(text("Here again."))
			again.Prompts = 2
			s := newStage(t, newStrict(t, begun, again, turn(text("Here again."))), newDesk(t))
			cmd, _ := s.aside("run", "--model", model, "--effort", "high", "Begin.")
			<-s.provider.arrived
			if code := s.ends(cmd, os.Interrupt); code != 130 {
				t.Errorf("exit %d", code)
			}
			if got := s.rkat(0, "resume", "--last", "Again."); got.stdout != "Here again.\n" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestSceneBudget: a budget of calls ends a run with 2 before the first one too
// many, also in the runs after it, which are told what did not run. With a higher
// one it does.
func TestSceneBudget(t *testing.T) {
	s := newStage(t, newStrict(t), newDesk(t))
	got := s.rkat(2, "run", "--max-tool-calls", "1", "-o", "json", `Call srv__look and srv__pay with "rent".`)
	if !strings.Contains(got.stdout, `"kind":"budget_exceeded"`) {
		t.Errorf("%+v", got)
	}
	s.rkat(2, "resume", "--last", `Call srv__pay with "more".`)
	s.ran("look rent")
	if sent := string(s.provider.asked(1)[0]); !strings.Contains(sent, "not executed: the budget of 1 tool calls is spent") {
		t.Errorf("sent %s", sent)
	}
	s.rkat(0, "resume", "--last", "--max-tool-calls", "9", `Call srv__pay with "all".`)
	s.ran("look rent", "pay all")
}

// TestSceneTokenBudget: nothing is sent when the tokens are spent.
func TestSceneTokenBudget(t *testing.T) {
	s := newStage(t, newStrict(t), newDesk(t))
	s.rkat(2, "run", "--max-tokens", "100", `Call srv__look with "rent".`)
	sent := len(s.provider.asked(0))
	got := s.rkat(2, "resume", "--last")
	if !strings.Contains(got.stderr, "the budget of 100 tokens is spent") || len(s.provider.asked(sent)) != 0 {
		t.Errorf("%+v, %d requests", got, len(s.provider.asked(sent)))
	}
	got = s.rkat(0, "resume", "--last", "--max-tokens", "100000")
	if !strings.Contains(got.stdout, "look has rent") {
		t.Errorf("%+v", got)
	}
	s.ran("look rent")
}
