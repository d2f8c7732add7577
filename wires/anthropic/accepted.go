package anthropic

import (
	"github.com/meerkat-go/conformance/wires/rule"
)

// accepted states what looks like a fault and is none: recordings with status 200
// outweigh reports that it is refused (reference §5.1, regressions §3.4).
var accepted = []rule.Info{
	acceptedRule("A-8", "recorded", "the first message may be the assistant's"),
	acceptedRule("A-10", "documented", "several messages of one role may follow each other; they are one turn"),
	acceptedRule("A-11", "recorded", "a text beside other blocks may be white space"),
	acceptedRule("ANT-S1", "recorded", "a server tool beside a call of the client may have no result yet"),
	acceptedRule("A-18", "recorded", "an id that was answered may stand on a call of another tool"),
	acceptedRule("A-42", "documented", "thinking of a model that this one cannot read is dropped without an error"),
	acceptedRule("ANT-P6", "recorded", "calls and results may stand in a request without tools"),
	acceptedRule("ANT-T8", "documented", "closed turns may lack their thinking"),
	acceptedRule("ANT-I3", "recorded", "ids of calls begin with anything"),
	acceptedRule("ANT-X12", "reported", "text may follow a call"),
	acceptedRule("ANT-S2", "inferred", "a turn that paused at a server tool may come back as the last message"),
	acceptedRule("ANT-B3", "documented", "bound thinking may be left out from the start of the history, or altogether"),
}

func acceptedRule(id, source, what string) rule.Info {
	r := rule.Info{ID: id, Demand: what, Source: source, Confidence: rule.High}
	if source == "inferred" {
		r.Confidence = rule.Low
	}
	return r
}
