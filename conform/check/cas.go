package check

import "github.com/meerkat-go/conformance/wires/wire"

// cassetteRules judge an agent against its own recording.
var cassetteRules = map[string]rule{
	"CAS-001/recorded": asRecorded,
}

// asRecorded reports requests that the cassette does not hold: the agent has
// changed. The refusal of the replaying proxy says what is different.
func asRecorded(s *Trace, r *report) {
	for _, x := range s.x {
		if !x.asksForAnswer() {
			continue
		}
		r.addObserved(1)
		if x.Missed {
			r.addFinding(x, wire.At(nil, ""), "", "request is not the recorded one: %s", x.reply.Err.Text("message"))
		}
	}
}
