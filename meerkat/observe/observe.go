// Package observe makes logs, spans and metrics of what an agent does (seed 001
// §14). Each of them is a listener of agent events: give them to
// agent.Config.OnEvent, several with All.
//
// None of them ever sees a key. What a model, a user or a tool wrote is left
// out as well: names, numbers and kinds of errors are enough to watch an agent.
// A listener belongs to one process, not to one run; it is safe for concurrent
// use.
package observe

import (
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/agent"
)

// Listener hears the events of runs. Those of one run come one at a time and in
// order.
type Listener func(agent.Event)

// All is a Listener that passes events to every one of list.
func All(list ...Listener) Listener {
	return func(e agent.Event) {
		for _, listen := range list {
			if listen != nil {
				listen(e)
			}
		}
	}
}

// toolForm is what every provider takes as the name of a tool (reference A-21).
var toolForm = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

// noTool stands for a name that no tool can have: a model may write anything
// there, of any length, and collectors refuse text that is not UTF-8.
const noTool = "(no name of a tool)"

func toolName(name string) string {
	if toolForm.MatchString(name) {
		return name
	}
	return noTool
}

// maxID bounds an id, and a model's name, in bytes.
const maxID = 128

// clean makes a text of a provider fit for collectors.
func clean(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxID)], "?") }
