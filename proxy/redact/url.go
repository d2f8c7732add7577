package redact

import (
	"bytes"
	"iter"
	"net/url"
	"strings"
)

// isParameterSecret reports whether a parameter of a query or a form, or a part of a
// multipart body, has the name of a credential.
func isParameterSecret(name string) bool {
	if credentialParams[strings.ToLower(name)] || classifyName(name) == strongName {
		return true
	}
	var space [maxName]byte
	if len(name) > maxName {
		return false
	}
	words := splitName(space[:0], name)
	return signatures[string(words.last)] || isCodeName(words.joined)
}

// credentialParams are names that mean a credential only in a query or a form.
var credentialParams = nameSet(
	"x-amz-credential", "x-goog-credential", "hdnts", "hdnea", "skoid-sig", "awsaccesskeyid", "ossaccesskeyid")

// signatures are the last words of parameters that sign the others.
var signatures = nameSet("sig", "signature", "hmac")

// unclearParams are names that mean a credential where the value is hard to guess, and
// randomParams where it is random.
var (
	unclearParams = nameSet("key", "auth", "code", "ticket")
	randomParams  = nameSet("state", "sid", "session", "appid")
)

// isParameter reports whether a parameter is a credential, by its name and its value.
func isParameter(name string, text []byte) bool {
	value := parameterValue(text[:min(len(text), maxNested)])
	lower := strings.ToLower(name)
	isSecret := isParameterSecret(name) || hasSecretForm(value) ||
		unclearParams[lower] && (hasEntropy(value) || isRandomLetters(value)) || randomParams[lower] && isRandom(value)
	return isSecret && !isReference(value)
}

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
	}
	return out
}

// urlSecrets finds the secrets in a URL's text: user info, and the parameters of
// its query and fragment.
func urlSecrets(raw string) (out []span) {
	out = userInfo(raw)
	path := raw
	if at := strings.IndexAny(raw, "?#"); at >= 0 {
		path = raw[:at]
		out = pairSecrets([]byte(raw), at+1, out)
	}
	return append(out, pathSecrets(path)...)
}

// pairSecrets appends the values of the pairs in raw, from at, that have the names of
// credentials, and the credentials inside other values.
func pairSecrets(raw []byte, at int, out []span) []span {
	for name, value := range pairsIn(raw, at) {
		text := value.bytesIn(raw)
		switch {
		case isParameter(name, text):
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
func parameterName(raw []byte) string { return parameterValue(raw[:min(len(raw), maxNested)]) }

// parameterValue returns a part of a query, decoded.
func parameterValue(raw []byte) string {
	if plain, err := url.QueryUnescape(string(raw)); err == nil {
		return plain
	}
	return string(raw)
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

// userInfo finds the password of a URL, and the user if it is a key.
func userInfo(raw string) []span {
	start := strings.Index(raw, "://") + len("://")
	if start < len("://") {
		return nil
	}
	authority := raw[start:]
	if n := strings.IndexAny(authority, "/?#"); n >= 0 {
		authority = authority[:n]
	}
	at := strings.LastIndexByte(authority, '@')
	if at <= 0 {
		return nil
	}
	user, password, _ := strings.Cut(authority[:at], ":")
	var out []span
	if isUnguessable(user) || isRandomLetters(user) {
		out = append(out, span{start, start + len(user)})
	}
	if password != "" && !isReference(password) {
		out = append(out, span{start + at - len(password), start + at})
	}
	return out
}
