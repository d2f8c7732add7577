package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/route"
)

// rule names a field that may differ between a request and the recorded one,
// because no reply depends on it: it labels the caller or tunes a cache.
type rule struct{ provider, field string }

func (r rule) name() string { return r.provider + "." + r.field }

// volatile are the fields, all of them top-level.
var volatile = []rule{
	{"anthropic", "metadata"},
	{"gemini", "labels"},
	{"openai", "metadata"},
	{"openai", "prompt_cache_key"},
	{"openai", "safety_identifier"},
	{"openai", "user"},
}

type digest [sha256.Size]byte

// key is what equal requests have in common. Headers are no part of it: the
// credentials are among them.
type key struct {
	method, url string
	body        digest
}

// fingerprint returns a redacted request's key, and the digest of all of its
// body, volatile fields included. JSON bodies are compared as JSON: the order
// of members, spaces and escapes do not matter, the form of numbers does.
func fingerprint(r cassette.Request) (key, digest) {
	body := r.Body
	if bytes.Contains(body, []byte("REDACTED")) {
		body = pseudonym.ReplaceAll(body, []byte("REDACTED"))
	}
	exact, stable := body, body
	canonical := jsontext.Value(bytes.Clone(body))
	if canonical.Canonicalize(jsontext.AllowDuplicateNames(true),
		jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)) == nil {
		exact, stable = canonical, withoutVolatile(provider(r), canonical)
	}
	return key{r.Method, canonicalURL(r.URL), sha256.Sum256(stable)}, sha256.Sum256(exact)
}

// pseudonym is what a redactor leaves of a secret. It depends on the user's
// key, and credentials are no part of a fingerprint.
var pseudonym = regexp.MustCompile(`REDACTED[A-Za-z0-9]{8,}`)

// rawDigest identifies a request's bytes.
func rawDigest(r cassette.Request) digest {
	h := sha256.New()
	h.Write([]byte(r.Method + " " + r.URL + "\n"))
	h.Write(r.Body)
	return digest(h.Sum(nil))
}

func provider(r cassette.Request) string {
	u, err := url.Parse(r.URL)
	if err != nil {
		return ""
	}
	return route.Provider(u.Host, u.Path)
}

// keyParameters are the query parameters that carry credentials.
var keyParameters = []string{"key", "api_key", "api-key", "apikey", "access_token", "auth_token", "id_token", "sig", "signature"}

// canonicalURL is the URL without credentials, its query in a fixed order.
func canonicalURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	u.Fragment = ""
	if u.RawQuery != "" {
		query := u.Query()
		for _, name := range keyParameters {
			query.Del(name)
		}
		u.RawQuery = query.Encode()
	}
	return u.String()
}

// withoutVolatile leaves the provider's volatile fields out of an object, which
// is otherwise unchanged.
func withoutVolatile(provider string, object []byte) []byte {
	if !slices.ContainsFunc(volatile, func(r rule) bool {
		return r.provider == provider && bytes.Contains(object, []byte(`"`+r.field+`"`))
	}) {
		return object
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowDuplicateNames(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return object
	}
	var kept [][]byte
	for d.PeekKind() == '"' {
		start := d.InputOffset()
		name, err := d.ReadToken()
		if err != nil {
			return object
		}
		field := name.String()
		if d.SkipValue() != nil {
			return object
		}
		if !slices.Contains(volatile, rule{provider, field}) {
			kept = append(kept, bytes.TrimPrefix(object[start:d.InputOffset()], []byte(",")))
		}
	}
	return slices.Concat([]byte("{"), bytes.Join(kept, []byte(",")), []byte("}"))
}

// relaxedBy names the rules without which two requests with one key would
// differ.
func relaxedBy(recorded, asked cassette.Request) []string {
	var names []string
	var a, b map[string]json.RawMessage
	if json.Unmarshal(recorded.Body, &a) != nil || json.Unmarshal(asked.Body, &b) != nil {
		return nil
	}
	for _, r := range volatile {
		if r.provider == provider(asked) && len(Diff(a[r.field], b[r.field])) > 0 {
			names = append(names, r.name())
		}
	}
	return names
}
