package check

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/wire"
)

// betaRules judge that betas stay as long as a turn (R53).
var betaRules = map[string]rule{"BET-004/same-betas": betasStay}

// turnBetas are betas, without their dates, that decide how a turn goes on: whether the
// model thinks between calls, and how much it can read. Others come and go with the
// members that they belong to.
var turnBetas = []string{"interleaved-thinking-", "context-1m-"}

// betasStay: a turn goes on with the betas that it began with.
func betasStay(s *Trace, r *report) {
	s.eachNext(func(then, now *exchange) {
		was, is := then.seen.Betas, now.seen.Betas
		if len(was) == 0 || is == nil || then.turn != now.turn || now.atOtherHost() || then.req.Model != now.req.Model {
			return
		}
		for _, b := range was {
			if !slices.ContainsFunc(turnBetas, func(prefix string) bool { return strings.HasPrefix(b, prefix) }) {
				continue
			}
			r.addObserved(1)
			if !slices.Contains(is, b) {
				r.addFinding(now, wire.At(nil, "anthropic-beta"), "", "the turn began with the beta %q, which its next request does not ask for (exchange %d)", cutText(b, 60), then.Index)
			}
		}
	})
}
