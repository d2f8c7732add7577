package replay

import (
	"net/http"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
)

// lookup is a request and what it is compared by. Most requests are answered by
// their bytes alone, so the rest is computed when it is needed. It is for one
// goroutine.
type lookup struct {
	replayer *Replayer
	r        *http.Request
	url      string
	body     []byte // decompressed
	header   http.Header

	hidden *cassette.Request
	whole  *form
	stable *form

	masked  *lookup // nil where it is the same
	isAsked bool    // whether masked was computed
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
	if q.hidden == nil {
		asked := record.RequestOf(q.r, q.body)
		if q.header != nil {
			asked.Header = q.header
		}
		asked = q.replayer.cfg.Redactor.Request(asked)
		q.hidden = &asked
	}
	return *q.hidden
}

// maskedLookup returns the lookup for the request as it was stored if what looks like a key
// was masked, nil where nothing does.
func (q *lookup) maskedLookup() *lookup {
	if q.isAsked || q.replayer.cfg.Mask == nil {
		return q.masked
	}
	q.isAsked = true
	if asked, isMasked := q.replayer.cfg.Mask(q.redactedRequest()); isMasked {
		q.masked = &lookup{replayer: q.replayer, r: q.r, url: q.url, body: q.body, header: q.header, hidden: &asked, isAsked: true}
	}
	return q.masked
}

// shown returns the lookup that may be described: no key stands in its request.
func (q *lookup) shown() *lookup {
	if m := q.maskedLookup(); m != nil {
		return m
	}
	return q
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
