// Package observe turns the events of an agent into something to look at. A
// [Listener] takes events; [Log] is one that writes log records, and package
// telemetry has those of OpenTelemetry and Prometheus. [All] joins several
// into the one that an agent takes:
//
//	agent, err := meerkat.NewAgent().
//		WithEnv(os.Environ()).
//		WithEvents(observe.All(observe.Log(slog.Default()), metrics.Listen)).
//		Build()
//
// No listener shows a key, or what a model, a user or a tool wrote: names,
// numbers and kinds of errors are enough to watch an agent. A listener serves all
// runs of a process and is safe for concurrent use.
package observe

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/agent"
)

// Listener takes the events of runs. Those of one run come one at a time and in
// order.
type Listener func(agent.Event)

// Gauge is a number that can be asked for at any time, such as how many runs are under
// way.
type Gauge struct {
	// Name is that of the metric; Help says what it counts.
	Name, Help string
	Value      func() float64
}

// Metrics counts what agents do, for Prometheus; see package telemetry.
type Metrics interface {
	Listen(e agent.Event)
	AddGauge(g Gauge)
	// Handler serves the metrics, WriteFile writes them into a file at once.
	Handler() http.Handler
	WriteFile(path string) error
}

// All returns a Listener that passes each event to every one of list. A nil
// Listener in the list is skipped.
func All(list ...Listener) Listener {
	return func(e agent.Event) {
		for _, listen := range list {
			if listen != nil {
				listen(e)
			}
		}
	}
}

// toolNamePattern is the form that every provider accepts.
var toolNamePattern = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

// notAToolName replaces a name that no tool can have. A model may write any text
// there, of any length, and collectors reject text that is not UTF-8.
const notAToolName = "(no name of a tool)"

// ToolLabel returns the name of a tool as a log, metric or span may show it. The
// model chose the name, so that a text that cannot name a tool is replaced.
func ToolLabel(name string) string {
	if toolNamePattern.MatchString(name) {
		return name
	}
	return notAToolName
}

// maxLabel is the length of a label in bytes.
const maxLabel = 128

// Label returns an id or a name that a provider sent as a log, metric or span may
// show it: valid UTF-8 of at most 128 bytes.
func Label(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxLabel)], "?") }
