package replay

import (
	"net/http"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
)

// lookup is a request and what it is compared by. Most requests are answered by
// their bytes alone, so the rest is computed when it is first needed. It is for one
// goroutine.
type lookup struct {
	replayer *Replayer
	r        *http.Request
	url      string
	body     []byte      // decompressed
	header   http.Header // that of a decompressed request, else nil

	redacted *cassette.Request
	whole    *form // of redacted
	stable   *form // whole without what the rules allow to differ

	masked map[int]*lookup // by the index of the mask; nil where that masks nothing
}

func (p *Replayer) newLookup(r *http.Request, body []byte) *lookup {
	q := &lookup{replayer: p, r: r, url: r.URL.String(), body: body}
	if r.Header.Get("Content-Encoding") != "" {
		q.header = record.RequestOf(r, nil).Header
		q.body = record.DecompressRequest(q.header, body)
	}
	return q
}

// redactedRequest returns the request as the recorder would have stored it.
func (q *lookup) redactedRequest() cassette.Request {
	if q.redacted == nil {
		asked := record.RequestOf(q.r, q.body)
		if q.header != nil {
			asked.Header = q.header
		}
		asked = q.replayer.cfg.Redactor.Request(asked)
		q.redacted = &asked
	}
	return *q.redacted
}

// maskedLookup returns the lookup for the request as one of the masks leaves it, nil where that
// masks nothing.
func (q *lookup) maskedLookup(number int) *lookup {
	masked, isKnown := q.masked[number]
	if isKnown {
		return masked
	}
	if asked, isMasked := q.replayer.cfg.Masks.list()[number](q.redactedRequest()); isMasked {
		masked = &lookup{replayer: q.replayer, r: q.r, url: q.url, body: q.body, header: q.header, redacted: &asked}
	}
	if q.masked == nil {
		q.masked = map[int]*lookup{}
	}
	q.masked[number] = masked
	return masked
}

// shown returns the lookup whose request may be shown to people: it has no key in it.
func (q *lookup) shown() *lookup {
	if q.replayer.cfg.Masks.All != nil {
		if m := q.maskedLookup(0); m != nil {
			return m
		}
	}
	return q
}

// shownRequest returns a recorded request as it may be shown to people. One that was recorded
// with an exemption has a key in it.
func (p *Replayer) shownRequest(recorded cassette.Request) cassette.Request {
	if p.cfg.Masks.All != nil {
		recorded, _ = p.cfg.Masks.All(recorded)
	}
	return recorded
}

func (q *lookup) requestForm() form {
	if q.whole == nil {
		f := formOf(q.redactedRequest())
		q.whole = &f
	}
	return *q.whole
}

func (q *lookup) stableForm() form {
	if q.stable == nil {
		f := q.requestForm().withoutVolatile(q.replayer.rules)
		q.stable = &f
	}
	return *q.stable
}

// levelKey returns what the request is looked up by at a level.
func (q *lookup) levelKey(l Level) digest {
	if l == identical {
		return rawDigest(q.r.Method, q.url, q.body)
	}
	return q.stableForm().reduceTo(l).computeDigest()
}
