package bench

import (
	"bytes"
	"math/rand/v2"
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// recoveryFaults go on badly after a failure for which the form was not to blame.
var recoveryFaults = []Kind{
	{Name: "retry-too-early", Rule: "§4 retry", Providers: all, alter: retryAfter(2)},
	{Name: "quota-asked-again", Rule: "§4", Providers: all, alter: refusedTwice(quota)},
	{Name: "unknown-model-asked-again", Rule: "§4", Providers: all, alter: refusedTwice(noModel)},
	{Name: "bad-key-asked-again", Rule: "§4", Providers: all, alter: refusedTwice(badKey)},
	{Name: "overflow-sent-again", Rule: "A-45 O-27 G-29", Providers: all, alter: refusedTwice(tooLong)},
	{Name: "overflow-grows", Rule: "A-45 O-27 G-29", Providers: all, alter: overflowGrows},
	{Name: "retry-runs-tools-again", Rule: "§4 D-32", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: retryWithOtherResult},
	{Name: "retry-starts-over", Rule: "§4 D-32", Providers: all, alter: retryFromStart},
}

// retryAfter turns an exchange down with a wait of 30 seconds, and lets it be answered
// after some of them.
func retryAfter(seconds int) func(*draft, *rand.Rand) (Place, bool) {
	dates := []string{"Tue, 24 Nov 2026 12:00:00 GMT", "Tue, 24 Nov 2026 12:00:02 GMT", "Tue, 24 Nov 2026 12:00:40 GMT"}
	return func(d *draft, r *rand.Rand) (Place, bool) {
		k := anyGeneration(d, r)
		d.repeatExchange(k)
		d.refuseExchange(k, rateLimit)
		for i, date := range []string{dates[0], dates[min(seconds/2, 2)]} {
			res := &d.ev.Exchanges[k+i].Response
			if res.Header = res.Header.Clone(); res.Header == nil {
				return Place{}, false
			}
			res.Header.Set("Date", date)
		}
		d.ev.Exchanges[k].Response.Header.Set("Retry-After", "30")
		return Place{Exchange: d.ev.Exchanges[k+1].Index, Path: "retry-after"}, true
	}
}

// refusedTwice has the last request refused, and sent again twice as it was.
func refusedTwice(with failures) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, _ *rand.Rand) (Place, bool) {
		k := lastOf(d.scene)
		if len(d.accepted) < 2 || k != len(d.ev.Exchanges)-1 {
			return Place{}, false
		}
		d.refuseExchange(k, with)
		d.repeatExchange(k)
		d.repeatExchange(k)
		return d.placeAt(k, nil), true
	}
}

// overflowGrows goes on after an overflow with a prompt more.
func overflowGrows(d *draft, _ *rand.Rand) (Place, bool) {
	k := lastOf(d.scene)
	p := d.editableRequest(k)
	if len(d.accepted) < 2 || k != len(d.ev.Exchanges)-1 || !p.turnList().isArray() {
		return Place{}, false
	}
	d.refuseExchange(k, tooLong)
	d.repeatExchange(k)
	p.turnList().appendValue(p.newTurn("user", "Please go on."))
	d.ev.Exchanges[k+1].Request.Body = p.root.encodeJSON()
	return d.placeAt(k+1, nil), true
}

// retryWithOtherResult lets a request with results fail, and tries it again with another
// result.
func retryWithOtherResult(d *draft, r *rand.Rand) (Place, bool) {
	for _, k := range d.accepted {
		i := slices.IndexFunc(d.blocks[k], func(b *block) bool { return b.kind == resultBlock && b.id != "" && !b.sentBefore })
		if i < 0 || !d.continuesReply(k) {
			continue
		}
		d.repeatExchange(k)
		d.refuseExchange(k, overload)
		p := d.editableRequest(k)
		if !setResult(p, p.blocks[i], "ran again, receipt 4711") {
			return Place{}, false
		}
		d.ev.Exchanges[k+1].Request.Body = p.root.encodeJSON()
		return d.placeAt(k+1, d.blocks[k][i].path), true
	}
	return Place{}, false
}

// retryFromStart lets a request with results fail, and sends the first one again.
func retryFromStart(d *draft, _ *rand.Rand) (Place, bool) {
	for _, k := range d.accepted {
		for _, b := range d.blocks[k] {
			if b.kind != callBlock || b.from == unknownOrigin || b.from.exchange >= k || d.resultOf(k, b) == nil {
				continue
			}
			first := d.ev.Exchanges[b.from.exchange]
			d.repeatExchange(k)
			d.refuseExchange(k, overload)
			again := &d.ev.Exchanges[k+1]
			again.Request = first.Request
			again.Response.Body = bytes.Clone(first.Response.Body)
			return d.placeAt(k+1, nil), true
		}
	}
	return Place{}, false
}
