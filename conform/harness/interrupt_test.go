package harness

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
)

func isClosed(signal <-chan struct{}) bool {
	select {
	case <-signal:
		return true
	default:
		return false
	}
}

// TestInterruption holds when the prompt of a step is called off.
func TestInterruption(t *testing.T) {
	slow := specs.Turn{Emit: []specs.Block{{Kind: specs.KindCall, Role: "slow"}}}
	for name, c := range map[string]struct {
		turn  specs.Turn
		pause time.Duration // 0: never
	}{
		"silence":      {specs.Turn{Stall: &specs.After{}}, silencePause},
		"a slow tool":  {slow, callPause},
		"another tool": {specs.Turn{Emit: []specs.Block{{Kind: specs.KindCall, Role: "echo"}}}, 0},
		"a whole turn": {specs.Turn{Emit: []specs.Block{{Kind: specs.KindText, Text: "slow"}}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var i interruption
				i.noteSent(c.turn) // no step is to be called off yet
				signal := i.armStep()
				i.noteSent(c.turn)
				time.Sleep(c.pause - time.Millisecond)
				synctest.Wait()
				if isClosed(signal) {
					t.Error("called off at once")
				}
				time.Sleep(time.Hour)
				if got := isClosed(signal); got != (c.pause > 0) {
					t.Errorf("called off: %v", got)
				}
				i.noteSent(slow) // a second turn does not close it twice
				time.Sleep(time.Hour)
				if got := i.disarmStep(); !got {
					t.Error("the slow tool does not call off")
				}
			})
		})
	}
}

// TestInterruptionOfAStepThatEnded holds that the next step is not called off by what
// the one before was sent.
func TestInterruptionOfAStepThatEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var i interruption
		i.armStep()
		i.noteSent(specs.Turn{Stall: &specs.After{}})
		if i.disarmStep() {
			t.Error("a step that ends by itself was called off")
		}
		signal := i.armStep()
		time.Sleep(time.Hour)
		if isClosed(signal) || i.disarmStep() {
			t.Error("the step was called off by the turn of the one before")
		}
	})
}

// TestJoinSteps holds which process each step and each end belongs to.
func TestJoinSteps(t *testing.T) {
	steps := []specs.Step{{}, {Turn: true}, {Resume: true}, {Turn: true}}
	end := func(code int, out string) evidence.Process {
		return evidence.Process{ExitCode: code, Stdout: []byte(out), Stderr: []byte(out)}
	}
	processes, processOf := joinSteps(steps, []evidence.Process{end(1, "a"), end(0, "b"), end(130, "c")})
	if diff := cmp.Diff([]int{0, 0, 1, 1}, processOf); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]evidence.Process{end(0, "ab"), end(130, "c")}, processes); diff != "" {
		t.Error(diff)
	}
}

// TestAcceptedExit holds which ends of a step are accepted of an agent of which nothing
// is known.
func TestAcceptedExit(t *testing.T) {
	whole, fault := []specs.Turn{{}}, []specs.Turn{{}, {Cut: &specs.After{}}}
	for _, c := range []struct {
		holdsAll   bool
		exit, want specs.Exit
		turns      []specs.Turn
	}{
		{false, specs.ExitOK, specs.ExitOK, whole},
		{false, specs.ExitOK, specs.ExitAny, fault},
		{false, specs.ExitError, specs.ExitAny, whole},
		{true, specs.ExitOK, specs.ExitOK, fault},
		{true, specs.ExitError, specs.ExitError, whole},
	} {
		kept := newCapture(Permutation{Case: Case{Scenario: &specs.Scenario{Turns: c.turns}}}, "seed",
			About{HoldsAll: c.holdsAll})
		if got := kept.acceptedExit(c.exit); got != c.want {
			t.Errorf("%+v: accepts %s", c, got)
		}
	}
}
