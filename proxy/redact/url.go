package redact

import (
	"bytes"
	"iter"
	"net/url"
	"regexp"
	"strings"
)

// isParameterSecret reports whether a parameter of a query or a form, or a part of a
// multipart body, has the name of a credential.
func isParameterSecret(name string) bool {
	if credentialParams[strings.ToLower(name)] {
		return true
	}
	return classifyName(name) == strongName
}

// credentialParams are names that mean a credential only in a query or a form.
var credentialParams = nameSet(
	"key", "auth", "code", "sig", "signature", "x-amz-signature", "x-amz-credential", "x-goog-signature", "x-goog-credential",
	"x-oss-signature", "x-cos-signature", "x-obs-signature", "hmac", "hdnts", "hdnea", "policy-signature", "skoid-sig",
	"awsaccesskeyid", "googleaccessid", "ossaccesskeyid", "key-pair-id", "q-signature", "x-tos-signature", "x-bce-signature", "ticket", "appid", "otp", "totp",
)

// randomParams are names that mean a credential only where the value is random.
var randomParams = nameSet("state", "sid", "session")

// redactURL replaces user info, credential parameters, and secrets anywhere
// else. It works on the text, because parsing and printing a URL may change it.
func (r *Redactor) redactURL(raw string, m *matcher) string {
	for _, s := range r.own.urlSpans(raw) {
		raw = raw[:s.start] + r.replaceSecret(raw[s.start:s.end]) + raw[s.end:]
	}
	return r.redactText(raw, m)
}

// querySecrets returns the secrets of a URL, unescaped.
func (o *Own) querySecrets(raw string) (out []string) {
	for _, s := range o.urlSpans(raw) {
		text := raw[s.start:s.end]
		if plain, err := url.QueryUnescape(text); err == nil && plain != text {
			out = append(out, text) // a "+" may be one
			text = plain
		}
		out = append(out, text)
		if _, password, ok := strings.Cut(text, ":"); ok && s.start > 0 && strings.HasSuffix(raw[:s.start], "://") {
			out = append(out, password)
		}
	}
	return out
}

// urlSecrets finds the secrets in a URL's text: user info, and the parameters of
// its query and fragment.
func urlSecrets(raw string) (out []span) {
	if s, ok := userInfo(raw); ok {
		out = append(out, s)
	}
	path := raw
	if at := strings.IndexAny(raw, "?#"); at >= 0 {
		path = raw[:at]
		out = pairSecrets([]byte(raw), at+1, out)
	}
	if !mayHoldSecret(path) {
		return out
	}
	for _, m := range pathSecret.FindAllStringSubmatchIndex(path, 1) {
		for i := 2; i < len(m); i += 2 {
			if m[i] >= 0 {
				out = append(out, span{m[i], m[i+1]})
			}
		}
	}
	return out
}

// mayHoldSecret reports whether a path has a word that pathSecret needs.
func mayHoldSecret(path string) bool {
	path = strings.ToLower(path)
	return strings.Contains(path, "/bot") || strings.Contains(path, "/services/") || strings.Contains(path, "//hc-ping.") || strings.Contains(path, "hook")
}

// pathSecret matches the credential in the path of a URL: of a bot of Telegram, and of the
// webhooks of Slack, Discord, Teams and others.
var pathSecret = regexp.MustCompile(`/bot(\d{6,}:[\w-]{30,})|/services/(T\w+/B\w+/\w{16,})|//hc-ping\.com/([\w-]{20,})|(?i)/hooks/catch/(\d+/\w+)|/\w*hooks?/((?:[\w.@-]+/)*?[\w-]{24,}(?:/[\w-]{30,})?)$`)

// pairSecrets appends the values of the pairs in raw, from at, that have the names of
// credentials, and the credentials inside other values.
func pairSecrets(raw []byte, at int, out []span) []span {
	for name, value := range pairsIn(raw, at) {
		text := value.bytesIn(raw)
		switch {
		case isParameterSecret(name), randomParams[strings.ToLower(name)] && isRandom(string(text)):
			out = append(out, value)
		case bytes.IndexByte(text, ';') >= 0:
			out = appendShifted(out, afterSemicolon(text), value.start)
		default:
			out = appendShifted(out, parameterIn(text), value.start)
		}
	}
	return out
}

// pairsNamed appends the values of the pairs in raw, from at, whose names are wanted.
func pairsNamed(raw []byte, at int, out []span, isWanted func(name string) bool) []span {
	for name, value := range pairsIn(raw, at) {
		if isWanted(name) {
			out = append(out, value)
		}
	}
	return out
}

// pairsIn yields the decoded names of the pairs in raw, from at, and where their values are.
// Pairs without a value are left out. A name longer than maxNested is cut.
func pairsIn(raw []byte, at int) iter.Seq2[string, span] {
	return func(yield func(string, span) bool) {
		for at < len(raw) {
			end := len(raw)
			if n := bytes.IndexAny(raw[at:], "&#?"); n >= 0 {
				end = at + n
			}
			name, value, _ := bytes.Cut(raw[at:end], []byte("="))
			if len(value) > 0 && !yield(parameterName(name), span{end - len(value), end}) {
				return
			}
			at = end + 1
		}
	}
}

// parameterName returns the name of a parameter, decoded.
func parameterName(raw []byte) string {
	name := string(raw[:min(len(raw), maxNested)])
	if plain, err := url.QueryUnescape(name); err == nil {
		return plain
	}
	return name
}

// afterSemicolon returns the value of the first credential that a ";" separates from what is
// before it, as some servers do.
func afterSemicolon(value []byte) []span {
	for at, sign := bytes.IndexByte(value, ';')+1, -1; at > 0; {
		if sign < at {
			n := bytes.IndexByte(value[at:], '=')
			if n < 0 {
				return nil
			}
			sign = at + n
		}
		if secret := (span{sign + 1, len(value)}); secret.start < secret.end && sign-at <= maxName && isParameterSecret(string(value[at:sign])) {
			return []span{secret}
		}
		n := bytes.IndexByte(value[at:], ';') + 1
		if n == 0 {
			break
		}
		at += n
	}
	return nil
}

// userInfo finds the "user:password" of a URL.
func userInfo(raw string) (span, bool) {
	start := strings.Index(raw, "://") + len("://")
	if start < len("://") {
		return span{}, false
	}
	authority := raw[start:]
	if n := strings.IndexAny(authority, "/?#"); n >= 0 {
		authority = authority[:n]
	}
	at := strings.LastIndexByte(authority, '@')
	return span{start, start + at}, at > 0
}
