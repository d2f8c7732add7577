package specs

import "strings"

// LenientExit is how step i may end with an agent whose way to handle a fault of the
// provider is not known. Such an agent may retry and answer, or give up with a
// failure; where the scenario is strict about it, both are allowed here. Success with
// half an answer is for the checks to find.
func (s *Scenario) LenientExit(i int) Exit {
	exit := s.Steps[i].Exit
	switch {
	case exit == ExitUnsupported:
		return exit
	case exit == ExitError || s.hasFault(i):
		return ExitAny
	}
	return exit
}

// hasFault reports whether the provider fails in step i.
func (s *Scenario) hasFault(i int) bool {
	for _, at := range s.StepTurns(i) {
		if t := s.Turns[at]; t.IsFault() {
			return true
		}
	}
	return false
}

// IsFault reports whether the turn does not arrive whole at first: it is refused, cut,
// fails in the middle or falls silent.
func (t Turn) IsFault() bool { return t.Refuse != nil || t.breaksStream() }

func (t Turn) breaksStream() bool { return t.Cut != nil || t.Fail != nil || t.Stall != nil }

// endsPrompt reports whether nothing follows the turn before the next prompt: it calls
// no tool of the client and does not pause.
func (t Turn) endsPrompt() bool {
	if t.Stop != "" {
		return t.Stop != StopTool && t.Stop != StopPause
	}
	for _, b := range t.Emit {
		if b.Kind == KindCall {
			return false
		}
	}
	return true
}

// isRefusedFor reports whether the turn never answers a prompt, for the words in it: it is
// the answer to the next one.
func (t Turn) isRefusedFor(prompt string) bool {
	return t.Refuse != nil && t.Refuse.Holds != "" && strings.Contains(prompt, t.Refuse.Holds)
}

// StepTurns are the ordinals of the turns that answer step i when it goes as scripted.
func (s *Scenario) StepTurns(i int) []int {
	at := 0
	for step := range s.Steps {
		turns := s.turnsFrom(at, step+1)
		if step == i {
			return turns
		}
		if len(turns) > 0 && !s.Turns[turns[len(turns)-1]].isRefusedFor(s.Steps[step].Prompt) {
			at = turns[len(turns)-1] + 1
		}
	}
	return nil
}

// turnsFrom are the turns from at on that answer the prompt of an ordinal, up to the one that
// ends it.
func (s *Scenario) turnsFrom(at, prompts int) []int {
	var turns []int
	for ; at < len(s.Turns); at++ {
		if s.Turns[at].Prompts > prompts {
			break
		}
		turns = append(turns, at)
		if s.Turns[at].endsPrompt() || s.Turns[at].breaksStream() {
			break
		}
	}
	return turns
}
