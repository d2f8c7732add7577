package harness

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/proxy/llm"
)

// keyedTransport exchanges the made-up key of a request for the real one on its way
// out, and takes the real one out of the reply. So the key is neither in what the agent
// can see nor in what is recorded, both of which are on the other side of it.
type keyedTransport struct {
	keys   map[string]string // by provider
	next   http.RoundTripper
	mask   *mask
	charge func(model string, u Usage, isReported bool)
}

// RoundTrip sends r.
func (t keyedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	provider := llm.Provider(r.URL.Host, r.URL.Path)
	out := r.Clone(r.Context())
	if key := t.keys[provider]; key != "" && withdrawMadeUpKeys(out) {
		llm.SetKey(out.Header, provider, key)
	}
	out.Header.Set("Accept-Encoding", "identity") // so that the reply can be searched
	resp, err := t.next.RoundTrip(out)
	if err != nil {
		return nil, errors.New(t.mask.maskText(err.Error())) //nolint:err113 // its text may hold the key
	}
	if encoding := resp.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%s answered with Content-Encoding %s, which it was not asked for and which cannot be searched for your key", r.URL.Host, encoding)
	}
	t.mask.maskHeader(resp.Header)
	resp.Body = t.mask.maskBody(t.meterReply(r, resp), func() { t.mask.maskHeader(resp.Trailer) })
	return resp, nil
}

// meterReply counts the tokens of a reply before its bytes are passed on: the client's next
// request is already counted against them.
func (t keyedTransport) meterReply(r *http.Request, resp *http.Response) io.ReadCloser {
	asked, ok := r.Context().Value(liveRequestKey{}).(liveRequest)
	if !ok {
		return resp.Body
	}
	return &meter{
		ReadCloser: resp.Body, provider: llm.Provider(r.URL.Host, r.URL.Path), contentType: resp.Header.Get("Content-Type"), announced: resp.ContentLength, asked: asked.size,
		isPaid: asked.generates && resp.StatusCode < http.StatusBadRequest,
		charge: func(u Usage, isReported bool) { t.charge(asked.model, u, isReported) },
	}
}

// withdrawMadeUpKeys takes the made-up keys out of a request and reports whether there
// was one. An agent that sends no key gets none.
func withdrawMadeUpKeys(r *http.Request) (found bool) {
	for name, values := range r.Header {
		if madeUpKey.MatchString(strings.Join(values, " ")) {
			found = true
			delete(r.Header, name)
		}
	}
	query := r.URL.Query()
	for name, values := range query {
		if !madeUpKey.MatchString(strings.Join(values, " ")) {
			continue
		}
		found = true
		query.Del(name)
		u := *r.URL
		u.RawQuery = query.Encode()
		r.URL = &u
	}
	return found
}
