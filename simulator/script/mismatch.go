package script

import (
	"fmt"
	"strings"

	"github.com/meerkat-go/conformance/specs"
)

// Mismatch is a request that its scenario did not expect. The client gets what
// Error returns, in the provider's error envelope, and Config.Mismatch of the
// simulator is called.
type Mismatch struct {
	// Scenario is its name, Provider the one that was asked.
	Scenario, Provider string
	// Turn counts from 1; 0 when none answers the request. Line is where it
	// stands in the scenario's file, 0 with Turn.
	Turn, Line int
	// Expected and Got complete "expected …" and "got …".
	Expected, Got string
	// NoTools says that the request offers no tool at all, where a turn calls one. The
	// client was answered, without the call.
	NoTools bool
}

// Error names the scenario and the turn, then what was expected.
func (m *Mismatch) Error() string {
	at := fmt.Sprintf("scenario %s", m.Scenario)
	if m.Turn > 0 {
		at += fmt.Sprintf(", turn %d (line %d)", m.Turn, m.Line)
	}
	return fmt.Sprintf("%s: expected %s, got %s", at, m.Expected, m.Got)
}

// checkExpectation is the refusal of a request that turn i did not expect, -1 for none.
func (s *Script) checkExpectation(req Request, i int, expected, got string) *Refusal {
	m := &Mismatch{Scenario: s.Scenario.Name, Provider: req.Provider, Expected: expected, Got: got}
	if i >= 0 {
		m.Turn, m.Line = i+1, s.Scenario.Turns[i].Line
	}
	return &Refusal{Kind: RefuseInvalid, Message: m.Error(), Mismatch: m}
}

// newMismatch holds the request against what turn i expects of it; nil when it
// holds all of that.
func (s *Script) newMismatch(req Request, i int, asked Intent) *Refusal {
	e := s.Scenario.Turns[i].Expect
	if e == nil {
		return nil
	}
	if want := specs.Fresh(e.Prompt, s.Seed); !strings.Contains(asked.Prompt, want) {
		return s.checkExpectation(req, i, fmt.Sprintf("a prompt with %q", want), excerptOf(asked.Prompt))
	}
	if e.Results == nil {
		return nil
	}
	if len(e.Results) != len(asked.Results) {
		return s.checkExpectation(req, i, countWord(len(e.Results), "result"), countWord(len(asked.Results), "result"))
	}
	for n, part := range e.Results {
		want, got := specs.Fresh(part, s.Seed), asked.Results[n]
		if !strings.Contains(got.Result, want) {
			return s.checkExpectation(req, i, fmt.Sprintf("%q in result %d, of %s", want, n+1, got.Name), excerptOf(got.Result))
		}
	}
	return nil
}

func countWord(n int, of string) string {
	if n != 1 {
		of += "s"
	}
	return fmt.Sprintf("%d %s", n, of)
}

// excerptOf is the beginning of a text, quoted.
func excerptOf(text string) string {
	const most = 120
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
