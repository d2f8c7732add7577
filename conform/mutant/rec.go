package mutant

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// recoveryMutants go on badly after a failure that was not about the form.
var recoveryMutants = []Mutant{
	{"hasty-retry", "tries again before the time that the provider asks for", []string{"REC-001"}, afterStatus(func(failed, next *evidence.Exchange) bool {
		next.Response.Header.Set("Date", failed.Response.Header.Get("Date"))
		return failed.Response.Header.Get("Retry-After") != ""
	}, 429, 529)},
	{"repeat-hopeless", "asks again although the account is empty", []string{"REC-002"}, repeatRefused("credit balance")},
	{"repeat-overflow", "sends again what was too long", []string{"REC-003"}, afterStatus(func(failed, next *evidence.Exchange) bool {
		next.Request, next.Response = failed.Request, failed.Response
		return strings.Contains(string(failed.Response.Body), "prompt is too long")
	}, http.StatusBadRequest)},
	{"rerun-tools", "runs a tool again when it tries again", []string{"REC-004"}, afterStatus(func(_, next *evidence.Exchange) bool {
		return changeResult(next)
	}, 429, 529)},
	{"start-over", "starts the run over when it tries again", []string{"REC-004"}, startOver},
	{"run-twice", "runs a tool once more than the model asked for it", []string{"REC-004"}, runTwice},
}

// runTwice is a log in which the first tool ran once more.
func runTwice(ev evidence.Evidence) (evidence.Evidence, bool) {
	if len(ev.ToolRuns) == 0 {
		return ev, false
	}
	ev.ToolRuns = slices.Clone(ev.ToolRuns)
	ev.ToolRuns[0].Ended = ev.ToolRuns[0].Asked + 1
	return ev, true
}

// afterStatus changes the exchange that follows the first one with one of the statuses for
// which change returns true.
func afterStatus(change func(failed, next *evidence.Exchange) bool, statuses ...int) func(evidence.Evidence) (evidence.Evidence, bool) {
	return func(ev evidence.Evidence) (evidence.Evidence, bool) {
		for i := range ev.Exchanges {
			if i+1 == len(ev.Exchanges) || !slices.Contains(statuses, ev.Exchanges[i].Response.Status) || ev.Exchanges[i].Missed {
				continue
			}
			changed := cloneEvidence(ev)
			if change(&changed.Exchanges[i], &changed.Exchanges[i+1]) {
				return changed, true
			}
		}
		return ev, false
	}
}

// changeResult changes what the first result of a request says.
func changeResult(x *evidence.Exchange) bool {
	e := &editor{x: x, req: wire.ReadRequest(x.Provider, x.Request.Method, x.Request.URL, x.Request.Body)}
	e.doc = e.req.Doc
	changed := e.eachItem(func(_ int, it *wire.Item) bool {
		return it.What == wire.Result && rewriteMember(it.Node, appendDot, "content", "output")
	})
	if changed {
		x.Request.Body = tree.Encode(e.doc)
	}
	return changed
}

// repeatRefused sends the first request again whose refusal holds words.
func repeatRefused(words string) func(evidence.Evidence) (evidence.Evidence, bool) {
	return func(ev evidence.Evidence) (evidence.Evidence, bool) {
		n := slices.IndexFunc(ev.Exchanges, func(x evidence.Exchange) bool {
			return x.Response.Status >= 400 && bytes.Contains(x.Response.Body, []byte(words))
		})
		if n < 0 {
			return ev, false
		}
		ev = cloneEvidence(ev)
		ev.Exchanges = slices.Insert(ev.Exchanges, n+1, ev.Exchanges[n])
		for i := n + 1; i < len(ev.Exchanges); i++ {
			ev.Exchanges[i].Index++
		}
		return ev, true
	}
}

// startOver puts the first request in the place of the one after a failure.
func startOver(ev evidence.Evidence) (evidence.Evidence, bool) {
	return afterStatus(func(failed, next *evidence.Exchange) bool {
		first := ev.Exchanges[0]
		if first.Index == failed.Index {
			return false
		}
		next.Request = first.Request
		return true
	}, 429, 529)(ev)
}
