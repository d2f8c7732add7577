package redact

import (
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/structure"
)

// redactHeader returns a redacted copy of h; nil stays nil.
func (r *Redactor) redactHeader(h http.Header, m *matcher) http.Header {
	if h == nil {
		return nil
	}
	out := make(http.Header, len(h))
	for name, lines := range h {
		lower := strings.ToLower(name)
		if structure.Dropped[lower] {
			continue
		}
		kept := make([]string, len(lines))
		for i, v := range lines {
			switch {
			case r.own.Keeps(lower, v):
				kept[i] = v
			case r.own.isNamed(lower):
				kept[i] = r.replaceSecret(v)
			case structure.AddressHeaders[lower]:
				kept[i] = r.redactAddresses(v, m)
			case structure.StaysInHeader(lower, v):
				kept[i] = r.redactText(v, m)
			default:
				kept[i] = r.replaceSecret(v)
			}
		}
		out[name] = kept
	}
	return out
}

// redactAddresses redacts a header that is a URL, or has some in it.
func (r *Redactor) redactAddresses(v string, m *matcher) string {
	if strings.HasPrefix(v, "<") || strings.Contains(v, " ") {
		for _, s := range structure.URLsIn([]byte(v)) {
			v = v[:s.Start] + r.replaceSecret(v[s.Start:s.End]) + v[s.End:]
		}
		return r.redactText(v, m)
	}
	return r.redactURL(v, m)
}

// redactURL replaces user info, credential parameters, and secrets anywhere
// else. It works on the text, because parsing and printing a URL may change it.
func (r *Redactor) redactURL(raw string, m *matcher) string {
	for _, s := range r.own.urlSpans(raw) {
		raw = raw[:s.Start] + r.replaceSecret(raw[s.Start:s.End]) + raw[s.End:]
	}
	return r.redactText(raw, m)
}
