package evidence

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires"
)

// Mask takes secrets out of what a provider answers, and puts as many letters in their
// place, so that lengths stay true. It is read-only.
type Mask struct{ spellings [][]byte }

// minSecret is the length of the shortest text that is masked, in bytes: shorter ones
// turn up by chance.
const minSecret = 8

// maskLetter stands for each byte of a secret.
const maskLetter = "*"

// NewMask returns a mask of secrets in each spelling that an answer may give them: as they are,
// escaped for a URL, in hex, in base64.
func NewMask(secrets []string) *Mask {
	m := &Mask{}
	for _, s := range secrets {
		if len(s) < minSecret {
			continue
		}
		texts := []string{s, url.QueryEscape(s), url.PathEscape(s), hex.EncodeToString([]byte(s)),
			strings.ToUpper(hex.EncodeToString([]byte(s)))}
		for shift := range 3 { // base64 has three forms, by what stands before the secret
			texts = append(texts, base64Middle(base64.RawStdEncoding, s, shift),
				base64Middle(base64.RawURLEncoding, s, shift))
		}
		for _, text := range texts {
			m.spellings = append(m.spellings, []byte(text))
		}
	}
	slices.SortFunc(m.spellings, func(a, b []byte) int { return cmp.Or(len(b)-len(a), bytes.Compare(a, b)) })
	m.spellings = slices.CompactFunc(m.spellings, bytes.Equal)
	return m
}

// credentials lists what stands where a request carries its keys.
func (r *Request) credentials() (list []string) {
	for _, name := range wires.CredentialHeaders() {
		for _, v := range r.Header.Values(name) {
			list = append(list, v[strings.LastIndexByte(v, ' ')+1:]) // behind "Bearer "
		}
	}
	for _, cookie := range (&http.Request{Header: r.Header}).Cookies() {
		list = append(list, cookie.Value)
	}
	if u, err := url.Parse(r.URL); err == nil {
		for name, values := range u.Query() {
			if wires.IsCredentialParameter(name) {
				list = append(list, values...)
			}
		}
	}
	return list
}

// base64Middle is the part of a base64 text that depends on s alone, where shift bytes
// stand before s in its group of three.
func base64Middle(enc *base64.Encoding, s string, shift int) string {
	text := enc.EncodeToString([]byte(strings.Repeat("\x00", shift) + s))
	from := (shift*8 + 5) / 6 // the first letter that holds bits of s only
	whole := (shift + len(s)) * 8 / 6
	return text[from:whole]
}

// Text masks a text.
func (m *Mask) Text(s string) string { return string(m.Bytes([]byte(s))) }

// Bytes masks a text; it does not change b. What is empty stays empty, and is not nil.
func (m *Mask) Bytes(b []byte) []byte {
	for _, s := range m.spellings {
		if bytes.Contains(b, s) {
			b = bytes.ReplaceAll(b, s, bytes.Repeat([]byte(maskLetter), len(s)))
		}
	}
	return b
}

// Header masks the values of a header, in place.
func (m *Mask) Header(h http.Header) {
	for name, values := range h {
		for i, v := range values {
			h[name][i] = m.Text(v)
		}
	}
}

// Exchange returns x with the secrets taken out, and whether its response held one.
func (m *Mask) Exchange(x Exchange) (clean Exchange, wasInResponse bool) {
	clean = x
	clean.Request.URL, clean.Request.Header = m.Text(x.Request.URL), x.Request.Header.Clone()
	clean.Response.Header, clean.Response.Body = x.Response.Header.Clone(), m.Bytes(x.Response.Body)
	m.Header(clean.Request.Header)
	m.Header(clean.Response.Header)
	return clean, !bytes.Equal(clean.Response.Body, x.Response.Body) ||
		!reflect.DeepEqual(clean.Response.Header, x.Response.Header)
}

// Body masks a body as it is read. atEnd is called when all of it has been read.
func (m *Mask) Body(next io.ReadCloser, atEnd func()) io.ReadCloser {
	return &maskedBody{ReadCloser: next, mask: m, atEnd: atEnd}
}

// maskedBody holds back only what may be the beginning of a secret.
type maskedBody struct {
	io.ReadCloser
	mask  *Mask
	atEnd func()
	ready []byte // masked
	held  []byte // may go on as a secret
	err   error
	buf   [32 << 10]byte
}

// Read implements io.Reader.
func (b *maskedBody) Read(p []byte) (int, error) {
	for len(b.ready) == 0 && b.err == nil && len(p) > 0 {
		n, err := b.ReadCloser.Read(b.buf[:])
		b.held = append(b.held, b.buf[:n]...)
		if b.err = err; err != nil {
			b.atEnd()
		}
		b.releaseHeld()
	}
	n := copy(p, b.ready)
	b.ready = b.ready[n:]
	if len(b.ready) > 0 {
		return n, nil
	}
	return n, b.err
}

// releaseHeld masks what was read and passes on all but the beginning of a secret at its
// end.
func (b *maskedBody) releaseHeld() {
	clean := b.mask.Bytes(b.held)
	keep := 0
	if b.err == nil {
		keep = b.mask.lengthOfBeginning(clean)
	}
	b.ready = bytes.Clone(clean[:len(clean)-keep])
	b.held = append(b.held[:0], clean[len(clean)-keep:]...)
}

// lengthOfBeginning is how many bytes at the end of text may be the beginning of a secret.
func (m *Mask) lengthOfBeginning(text []byte) (longest int) {
	for _, s := range m.spellings {
		for n := min(len(s)-1, len(text)); n > longest; n-- {
			if bytes.HasSuffix(text, s[:n]) {
				longest = n
			}
		}
	}
	return longest
}
