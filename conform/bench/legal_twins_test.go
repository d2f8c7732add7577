package bench

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// urlAlphabet rewrites base64 as some clients of Gemini do.
var urlAlphabet = strings.NewReplacer("+", "-", "/", "_")

// renewTokens gives a reply, and requests that repeat it, other ids and tokens.
func renewTokens(body []byte, replies []issued) []byte {
	if body == nil {
		return nil
	}
	swap := func(old string) {
		if len(old) < 8 {
			return
		}
		fresh := otherToken(old)
		body = bytes.ReplaceAll(body, []byte(old), []byte(fresh))
		body = bytes.ReplaceAll(body, []byte(urlAlphabet.Replace(old)), []byte(urlAlphabet.Replace(fresh)))
	}
	for _, it := range replies {
		swap(it.token)
		swap(it.draft)
		swap(it.id)
		swap(it.itemID)
	}
	return body
}

// otherToken is a token of the same length and alphabet as old.
func otherToken(old string) string {
	b := []byte(old)
	for i := len(b) - 6; i < len(b)-2; i++ {
		switch c := b[i]; {
		case c >= 'a' && c < 'z', c >= 'A' && c < 'Z', c >= '0' && c < '9':
			b[i] = c + 1
		case c == 'z' || c == 'Z':
			b[i] = c - 1
		case c == '9':
			b[i] = '0'
		}
	}
	return string(b)
}

// runTwice runs the same conversation twice, with other ids and tokens.
func runTwice(interleaved bool) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, _ *rand.Rand) (Place, bool) {
		if len(d.ev.Exchanges) > 12 || len(d.modelCalls()) != len(d.ev.Exchanges) {
			return Place{}, false
		}
		var every []issued
		for k := range d.ev.Exchanges {
			every = append(every, d.replies[k]...)
			if d.isCutByBudget(k) || d.requests[k].at("previous_response_id") != nil || d.requests[k].at("conversation") != nil {
				return Place{}, false
			}
		}
		var out []evidence.Exchange
		var second []evidence.Exchange
		for _, ex := range d.ev.Exchanges {
			twin := ex
			twin.Request.Body = renewTokens(ex.Request.Body, every)
			twin.Response.Body = renewTokens(ex.Response.Body, every)
			out = append(out, ex)
			if interleaved {
				out = append(out, twin)
			} else {
				second = append(second, twin)
			}
		}
		d.ev.Exchanges = slices.Concat(out, second)
		d.renumberExchanges()
		return Place{}, d.isRenewed(every)
	}
}

// isRenewed reports whether each token and id of the replies is in the evidence
// as often as in the recording: the twin has its own.
func (d *draft) isRenewed(every []issued) bool {
	both := newScene(&d.ev)
	if both == nil {
		return false
	}
	old := map[string]bool{}
	for _, it := range every {
		old[it.token], old[it.id] = true, true
	}
	delete(old, "")
	count := func(s *scene) (n int) {
		for k := range s.replies {
			for _, it := range s.replies[k] {
				n += countTrue(old[it.token], old[it.id])
			}
			for _, b := range s.blocks[k] {
				n += countTrue(old[b.token], old[b.id])
			}
		}
		return n
	}
	return count(both) == count(d.scene)
}

func countTrue(list ...bool) (n int) {
	for _, b := range list {
		if b {
			n++
		}
	}
	return n
}
