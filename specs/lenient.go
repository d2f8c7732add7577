package specs

// lenientTimes is how often a fault happens to an agent that may retry: long enough to
// show what it does, short enough for it to end in seconds.
const lenientTimes = 2

// Lenient returns the scenario for an agent of which nothing is known. Its prompts end
// in a word of the seed, by which the main conversation is told from titles and
// sub-agents; equal prompts end in equal words. Steps may end as [Scenario.LenientExit]
// says, and faults end after some attempts. The result shares what does not change.
func (s *Scenario) Lenient() *Scenario {
	out := *s
	out.IsLenient = true
	out.Steps, out.Turns = nil, nil
	for i, step := range s.Steps {
		if step.Exit = s.LenientExit(i); step.Exit != ExitOK {
			step.Says = ""
		}
		if step.Prompt != "" {
			step.Prompt += " (Reference: {{nonce " + markName(s.Steps, i) + "}})"
		}
		out.Steps = append(out.Steps, step)
	}
	for _, turn := range s.Turns {
		if turn.breaksStream() && turn.Times == 0 {
			turn.Times = lenientTimes
		}
		if turn.Refuse != nil && turn.Refuse.Times > lenientTimes {
			refuse := *turn.Refuse
			refuse.Times = lenientTimes
			turn.Refuse = &refuse
		}
		out.Turns = append(out.Turns, turn)
	}
	return &out
}

// PromptMark is the word of a seed in which the prompt of step i of a lenient scenario
// ends, "" for a step without a prompt.
func (s *Scenario) PromptMark(i int, seed string) string {
	if s.Steps[i].Prompt == "" {
		return ""
	}
	return Nonce(seed, markName(s.Steps, i))
}

// markName names the first step with the prompt of step i.
func markName(steps []Step, i int) string {
	for n, step := range steps {
		if step.Prompt == steps[i].Prompt {
			return "step-" + string(rune('a'+n%26))
		}
	}
	return ""
}
