package check_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
)

// issuedName matches ids and tokens that the samples' providers issue.
var issuedName = regexp.MustCompile(`"(toolu|srvtoolu|msg|call|fc|rs|resp|mcpr|mcpl|container|ws|tsc|tso|cmp)_\w+"|` +
	`"(signature|encrypted_content|thoughtSignature|encrypted_index)": ?"[\w+/-]{12}`)

// twinOf returns the exchanges of another session with the same prompts and answers: ids and
// tokens are others.
func twinOf(list []evidence.Exchange) []evidence.Exchange {
	list = slices.Clone(list)
	rename := func(name []byte) []byte {
		name = slices.Clone(name)
		switch last := len(name) - 1; {
		case string(name) == `"call_id"`:
		case name[last] == '"':
			name = append(name[:last], `x9"`...)
		case name[last] == 'Q':
			name[last] = 'R'
		default:
			name[last] = 'Q'
		}
		return name
	}
	for i := range list {
		list[i].Request.Body = issuedName.ReplaceAllFunc(list[i].Request.Body, rename)
		list[i].Response.Body = issuedName.ReplaceAllFunc(list[i].Response.Body, rename)
	}
	return list
}

// orders are the ways in which two sessions of one length run side by side: how many
// exchanges of the second stand before the i-th of the first.
func orders(n int) map[string]func(i int) int {
	return map[string]func(i int) int{
		"by turns": func(i int) int { return i },
		"lag 1":    func(i int) int { return i - 1 },
		"lag 2":    func(i int) int { return i - 2 },
		"inside":   func(i int) int { return min(i, 1) * n },
		"after":    func(int) int { return 0 },
		"in pairs": func(i int) int { return (i + 1) / 2 * 2 },
	}
}

// interleave puts two sessions into one recording.
func interleave(ev evidence.Evidence, first, second []evidence.Exchange, before func(i int) int) evidence.Evidence {
	both := evidence.Evidence{Source: evidence.SourceRecording, Case: ev.Case}
	add := func(x evidence.Exchange) {
		x.Index, x.Process = len(both.Exchanges), -1
		both.Exchanges = append(both.Exchanges, x)
	}
	k := 0
	for i := range first {
		for ; k < before(i) && k < len(second); k++ {
			add(second[k])
		}
		add(first[i])
	}
	for ; k < len(second); k++ {
		add(second[k])
	}
	return both
}

// TestTwinSessions: two sessions run the same task side by side, and the provider answers
// both in the same words. Ids and tokens say which request goes on with which reply, so that
// neither is accused of what the other did.
func TestTwinSessions(t *testing.T) {
	// What a provider declined, cut or refused is sent again with the same bytes, whoever
	// sends it.
	sameBytes := []string{"BUD-002", "ERR-002", "ERR-005", "MED-004"}
	for name, ev := range samples(t) {
		twin := twinOf(ev.Exchanges)
		for i := range twin {
			twin[i].WebSocket *= 10 // connections of its own
		}
		for how, before := range orders(len(twin)) {
			both := interleave(ev, ev.Exchanges, twin, before)
			for _, res := range report.Judge(catalogue(t), &both) {
				if len(res.Findings) > 0 && !slices.Contains(sameBytes, res.Requirement) {
					t.Errorf("%s, %s: %s: %s", name, how, res.Check, res.Findings[0].Message)
				}
			}
		}
	}
}
