package harness

import "fmt"

// turnDeviation says which turn of a step the agent never asked for, "" when it asked
// for all of them. Behind a fault it may stop, but then it must not end well.
func (c *capture) turnDeviation(step, exitCode int) string {
	scenario := c.Case.Scenario
	for _, at := range scenario.StepTurns(step) {
		turn := scenario.Turns[at]
		whole, sent := c.sentTurns[turn.Line]
		switch {
		case whole:
		case turn.IsFault() && exitCode != 0 || scenario.Steps[step].Interrupt:
			return ""
		case turn.IsFault():
			return fmt.Sprintf("step %d exited 0, but the reply of turn %d never arrived whole", step, at+1)
		case !sent:
			return fmt.Sprintf("step %d never asked for turn %d: the agent did not go on with the conversation in which the prompt stands", step, at+1)
		}
	}
	return ""
}

// missingTools says why nothing can be said about an agent that has no tool, "" for any
// other.
func (c *capture) missingTools() string {
	if !c.lacksTools || c.sentCall() {
		return ""
	}
	return "the agent offers no tool that can be called"
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
