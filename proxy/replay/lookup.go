package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
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

// levelKey returns what the request is looked up by at a level.
func (q *lookup) levelKey(l Level) digest {
	if l == identical {
		return rawDigest(q.r.Method, q.url, q.body)
	}
	if q.stable == nil {
		f := q.requestForm().withoutVolatile(q.replayer.rules)
		q.stable = &f
	}
	return q.stable.reduceTo(l).computeDigest()
}

// digest identifies what equal requests have in common.
type digest [sha256.Size]byte

// form is a redacted request in the spelling in which requests are compared.
// Headers are not part of it: credentials are among them, and no other header
// decides what a model says. Pseudonyms of credentials are masked.
type form struct {
	method, url, provider string

	body   []byte
	json   bool // body is canonical JSON
	masked int  // by how many bytes masking made the body shorter
}

// formOf returns the form of a request. JSON bodies are compared as JSON: the
// order of members, spaces and escapes do not matter, the spelling of numbers
// does. The random boundary of a multipart body does not matter.
func formOf(r cassette.Request) form {
	body := r.Body
	r.Body = redact.MaskPseudonyms(body)
	f := unmaskedFormOf(r)
	f.masked = len(body) - len(r.Body)
	return f
}

// unmaskedFormOf returns the form of a request with the pseudonyms in its body as they are.
func unmaskedFormOf(r cassette.Request) form {
	f := form{method: r.Method, url: r.URL, body: r.Body}
	if u, err := url.Parse(r.URL); err == nil {
		f.url, f.provider = canonicalURL(u), llm.Provider(u.Host, u.Path)
	}
	if boundary := boundaryOf(r); boundary != "" {
		f.body = bytes.ReplaceAll(f.body, []byte("--"+boundary), []byte("--boundary"))
		return f
	}
	text := jsontext.Value(bytes.Clone(f.body))
	if text.Canonicalize(jsontext.AllowDuplicateNames(true),
		jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)) == nil {
		f.body, f.json = text, true
	}
	return f
}

// computeDigest returns the digest of the whole form.
func (f form) computeDigest() digest {
	h := sha256.New()
	h.Write([]byte(f.method + " " + f.url + "\n"))
	h.Write(f.body)
	return digest(h.Sum(nil))
}

// boundaryOf returns the boundary of a multipart body, or "".
func boundaryOf(r cassette.Request) string {
	kind := r.Header.Get("Content-Type")
	if !strings.HasPrefix(kind, "multipart/") {
		return ""
	}
	_, parameters, err := mime.ParseMediaType(kind)
	if err != nil {
		return ""
	}
	return parameters["boundary"]
}

// keyParameters are the query parameters that carry credentials.
var keyParameters = []string{"key", "api_key", "api-key", "apikey", "access_token", "auth_token", "id_token", "sig",
	"signature"}

// canonicalURL returns the URL without credentials and pseudonyms, its query in
// a fixed order.
func canonicalURL(u *url.URL) string {
	out := *u
	out.Fragment = ""
	if out.RawQuery != "" {
		query := out.Query()
		for _, name := range keyParameters {
			query.Del(name)
		}
		out.RawQuery = query.Encode()
	}
	return string(redact.MaskPseudonyms([]byte(out.String())))
}

// SameURL reports whether two URLs of requests differ in nothing but credentials and
// the order of their parameters.
func SameURL(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && canonicalURL(x) == canonicalURL(y)
}

// rawSeeds make the digests of bytes. They are new in each process, so that no one can
// construct two requests with one digest.
var rawSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// rawDigest returns the digest of a request's bytes. It is much faster than
// computeDigest, because all of a cassette may have to be read for the first answer.
func rawDigest(method, url string, body []byte) (d digest) {
	where := method + " " + url
	for i, seed := range rawSeeds {
		binary.LittleEndian.PutUint64(d[16*i:], maphash.Bytes(seed, body))
		binary.LittleEndian.PutUint64(d[16*i+8:], maphash.String(seed, where))
	}
	return d
}
