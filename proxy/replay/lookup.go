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

// shownRequest returns a redacted request as it may be described: a key may stand in one that
// was recorded with an exemption, and in one that was just sent.
func (p *Replayer) shownRequest(r cassette.Request) cassette.Request {
	if p.cfg.Mask == nil {
		return r
	}
	return p.cfg.Mask(r)
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
