package harness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/wire"
)

// turnDeviation says which turn of a step the agent never asked for, "" when it asked
// for all of them. Behind a fault it may stop, but then it must not end well. It may also
// give up in a step that may fail, and after a call that cannot be read.
func (c *capture) turnDeviation(step, exitCode int) string {
	scenario := c.Case.Scenario
	turns := scenario.StepTurns(step)
	for i, at := range turns {
		turn := scenario.Turns[at]
		whole, sent := c.sentTurns[turn.Line]
		switch {
		case whole:
		case turn.IsFault() && exitCode != 0 || scenario.Steps[step].Interrupt:
			return ""
		case turn.IsFault():
			return fmt.Sprintf("step %d exited 0, but the reply of turn %d never arrived whole", step, at+1)
		case !sent && i > 0 && (exitCode != 0 && scenario.Steps[step].Exit != specs.ExitOK || hasUnreadableCall(scenario.Turns[at-1])):
			return ""
		case !sent:
			return fmt.Sprintf("step %d never asked for turn %d: %s", step, at+1, c.whyNotAsked(step))
		}
	}
	return ""
}

// hasUnreadableCall reports whether a turn has a call whose arguments end in the middle.
func hasUnreadableCall(turn specs.Turn) bool {
	return slices.ContainsFunc(turn.Emit, func(b specs.Block) bool { return b.Partial })
}

// whyNotAsked says why the requests of a step asked for no turn. The caller holds mu.
func (c *capture) whyNotAsked(step int) string {
	for _, in := range c.passed {
		if in.step != step {
			continue
		}
		q := wire.ReadRequest(c.Case.Target.Provider, in.Request.Method, in.Request.URL, in.Request.Body)
		if n := len(q.Items); q.Op == wire.Generate && n > 0 && q.Items[n-1].Model() {
			what := "a message of the model"
			if last := q.Items[n-1]; last.What == wire.Text && last.Text == "" {
				what = "an empty message of the model"
			}
			return fmt.Sprintf("the last message of its request is %s, so the model is asked to go on with that and not to answer the prompt", what)
		}
	}
	return "the agent did not go on with the conversation in which the prompt stands"
}

// missingTools says why nothing can be said about an agent that has no tool, "" for any
// other.
func (c *capture) missingTools() string {
	if !c.lacksTools || c.sentCall() {
		return ""
	}
	return "the agent offers no tool that can be called"
}

// calledElsewhere says why nothing can be said about an agent that called other providers
// than that of the case, "" for any other.
func calledElsewhere(provider string, ev *evidence.Evidence) string {
	called := ev.Providers()
	if len(called) == 0 || slices.Contains(called, provider) {
		return ""
	}
	return fmt.Sprintf("the agent calls %s and not %s; lead it there with --env or a profile, or leave --provider %s out", strings.Join(called, ", "), provider, provider)
}

// sentCall reports whether a turn with a call was sent.
func (c *capture) sentCall() bool {
	for _, turn := range c.Case.Scenario.Turns {
		if _, sent := c.sentTurns[turn.Line]; !sent {
			continue
		}
		for _, block := range turn.Emit {
			if block.Role != "" {
				return true
			}
		}
	}
	return false
}
