package gate

import (
	"net/url"
	"strings"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// shortest is the length from which a value is remembered: shorter ones are
// dummies, or words.
const shortest = 12

// suspicious are the parts of header and parameter names that mean a secret;
// innocent are the names they would take by mistake.
var (
	suspicious = []string{"auth", "api-key", "apikey", "api_key", "-key", "secret", "passw", "credential", "security-token", "access_token", "access-token"}
	innocent   = []string{"idempotency-key", "sec-websocket-key", "www-authenticate", ":authority"}
)

func secretName(name string) bool {
	name = strings.ToLower(name)
	for _, s := range innocent {
		if name == s {
			return false
		}
	}
	for _, s := range suspicious {
		if strings.Contains(name, s) {
			return true
		}
	}
	return name == "key" || name == "sig" || name == "signature"
}

// saw remembers the credentials of a request before it is redacted.
func (g *Gate) saw(in cassette.Interaction) {
	for _, secret := range secretsOf(in.Request) {
		g.mu.RLock()
		known := g.seen.values[secret]
		g.mu.RUnlock()
		if !known {
			g.Learn(secret)
		}
	}
}

// secretsOf takes the last word of each credential, which leaves the scheme out.
func secretsOf(r cassette.Request) (out []string) {
	take := func(v string) {
		if words := strings.Fields(v); len(words) > 0 {
			out = append(out, words[len(words)-1])
		}
	}
	for name, values := range r.Header {
		for _, v := range values {
			if secretName(name) {
				take(v)
			}
		}
	}
	if u, err := url.Parse(r.URL); err == nil {
		for name, values := range u.Query() {
			if secretName(name) {
				take(values[0])
			}
		}
		if secret, ok := u.User.Password(); ok {
			take(secret)
		}
	}
	return out
}

// seen is an immutable set of secrets and a filter on their first two bytes.
type seen struct {
	values map[string]bool
	first  [1 << 16]bool
}

func newSeen() *seen { return &seen{values: map[string]bool{}} }

func (s *seen) with(secret string) *seen {
	if len(secret) < shortest || s.values[secret] {
		return s
	}
	out := &seen{values: map[string]bool{secret: true}, first: s.first}
	for v := range s.values {
		out.values[v] = true
	}
	out.first[int(secret[0])<<8|int(secret[1])] = true
	return out
}

// in reports whether text holds a secret, as it is or encoded.
func (s *seen) in(text string) bool {
	if len(s.values) == 0 {
		return false
	}
	return s.plainly([]byte(text)) || s.plainly([]byte(unescaped(text))) || s.inBase64(text)
}

func (s *seen) plainly(text []byte) bool {
	for i := 0; i+shortest <= len(text); i++ {
		if s.first[int(text[i])<<8|int(text[i+1])] && s.at(text[i:]) {
			return true
		}
	}
	return false
}

// at reports whether text starts with a secret.
func (s *seen) at(text []byte) bool {
	for v := range s.values {
		if len(v) <= len(text) && string(text[:len(v)]) == v {
			return true
		}
	}
	return false
}

// inBase64 undoes base64, of either alphabet, in every run of its letters that
// could hold a secret, from each of the four places where a group may begin.
func (s *seen) inBase64(text string) bool {
	buf := make([]byte, 0, len(text))
	for at := 0; at < len(text); at++ {
		start := at
		for at < len(text) && sextet[text[at]] >= 0 {
			at++
		}
		if at-start < shortest*4/3 {
			continue
		}
		for shift := range 4 {
			if buf = decode(buf[:0], text[start+shift:at]); s.plainly(buf) {
				return true
			}
		}
	}
	return false
}

// decode appends the bytes that a run of base64 letters stands for.
func decode(dst []byte, run string) []byte {
	bits, n := 0, 0
	for i := range len(run) {
		bits, n = bits<<6|int(sextet[run[i]]), n+6
		if n >= 8 {
			n -= 8
			dst = append(dst, byte(bits>>n))
			bits &= 1<<n - 1
		}
	}
	return dst
}

// sextet is the value of a base64 letter, or -1.
var sextet = func() (t [256]int8) {
	for i := range t {
		t[i] = -1
	}
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range letters {
		t[letters[i]] = int8(i)
	}
	t['-'], t['_'] = t['+'], t['/']
	return t
}()
