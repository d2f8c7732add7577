package check

import "github.com/meerkat-go/conformance/conform/wire"

// cassetteRules judge an agent against its own recording (DESIGN §4, §6).
var cassetteRules = map[string]rule{
	"CAS-001/recorded": asRecorded,
}

// asRecorded: a request that the cassette does not hold is a change of the
// agent. The replaying proxy says in its refusal what is different.
func asRecorded(s *Trace, r *report) {
	for _, x := range s.x {
		if !x.asksForAnswer() {
			continue
		}
		r.addObserved(1)
		if x.Missed {
			r.addFinding(x, wire.Place{Event: -1, Off: -1}, "", "request is not the recorded one: %s", x.reply.Err.Get("message").Str())
		}
	}
}
