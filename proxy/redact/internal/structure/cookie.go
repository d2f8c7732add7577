package structure

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// isCookie reports whether a name is that of cookies: a header, a member.
func isCookie(name []byte) bool {
	return lex.HasSuffixFold(name, "cookie") || lex.HasSuffixFold(name, "cookies")
}

// cookieSpans finds the values in a line of cookies.
func cookieSpans(line []byte) (out []lex.Span) {
	at := 0
	for part := range bytes.SplitSeq(line, []byte(";")) {
		name, value, isPair := bytes.Cut(part, []byte("="))
		if end := at + len(part); isPair && len(value) > 0 &&
			!cookieAttributes[strings.ToLower(string(bytes.TrimSpace(name)))] {
			out = append(out, lex.Between(end-len(value), end))
		} else if !isPair && at == 0 {
			out = append(out, lex.Between(0, end))
		}
		at += len(part) + 1
	}
	return out
}

// CookieValues returns the values of the cookies in h.
func CookieValues(h http.Header) (out []string) {
	for name, lines := range h {
		switch strings.ToLower(name) {
		case "cookie", "set-cookie", "set-cookie2":
		default:
			continue
		}
		for _, line := range lines {
			for part := range strings.SplitSeq(line, ";") {
				if key, v, ok := strings.Cut(strings.TrimSpace(part), "="); ok &&
					!cookieAttributes[strings.ToLower(key)] {
					out = append(append(out, strings.Trim(v, `"`)), signedCookie(v)...)
				}
			}
		}
	}
	return out
}

// signedCookie returns the value of a cookie that says that it is signed, s%3AVALUE.
func signedCookie(v string) []string {
	if plain, err := url.QueryUnescape(v); err == nil && strings.HasPrefix(plain, "s:") {
		return []string{plain[len("s:"):]}
	}
	return nil
}

// cookieAttributes stand beside a cookie and are not secret.
var cookieAttributes = lex.Set("expires max-age domain path samesite priority version")
