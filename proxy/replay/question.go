package replay

import (
	"net/http"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
)

// question is a request and what it is compared by. Most are answered by their
// bytes alone, so the rest is worked out when it is asked for. One goroutine
// owns it.
type question struct {
	player *Player
	r      *http.Request
	url    string
	body   []byte // decompressed
	header http.Header

	hidden *cassette.Request
	whole  *form
	stable *form
}

func (p *Player) question(r *http.Request, body []byte) *question {
	q := &question{player: p, r: r, url: r.URL.String(), body: body}
	if r.Header.Get("Content-Encoding") != "" {
		q.header = record.Incoming(r, nil).Header
		q.body = record.Readable(q.header, body)
	}
	return q
}

// redacted is the request as the recorder would have stored it.
func (q *question) redacted() cassette.Request {
	if q.hidden == nil {
		asked := record.Incoming(q.r, q.body)
		if q.header != nil {
			asked.Header = q.header
		}
		asked = q.player.cfg.Redactor.Request(asked)
		q.hidden = &asked
	}
	return *q.hidden
}

func (q *question) form() form {
	if q.whole == nil {
		f := formOf(q.redacted())
		q.whole = &f
	}
	return *q.whole
}

func (q *question) without() form {
	if q.stable == nil {
		f := q.form().without(q.player.rules)
		q.stable = &f
	}
	return *q.stable
}

// key is what the request is looked up by at a level.
func (q *question) key(l Level) digest {
	if l == identical {
		return rawDigest(q.r.Method, q.url, q.body)
	}
	return q.without().at(l).digest()
}
