package structure

import (
	"bytes"
	"iter"
	"net/url"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// isParameterSecret reports whether a parameter of a query or a form, or a part of a
// multipart body, has the name of a credential.
func isParameterSecret(name string) bool {
	if credentialParams[strings.ToLower(name)] || names.Classify(name) == names.Strong {
		return true
	}
	return signatures[names.LastWord(name)] || names.IsCode([]byte(name))
}

// credentialParams are names that mean a credential only in a query or a form.
var credentialParams = lex.Set(
	"x-amz-credential", "x-goog-credential", "hdnts", "hdnea", "skoid-sig", "awsaccesskeyid", "ossaccesskeyid")

// signatures are the last words of the parameters that sign the others.
var signatures = lex.Set("sig signature hmac")

// unclearParams are names that mean a credential where the value is hard to guess, and
// randomParams where it is random.
var (
	unclearParams = lex.Set("key auth code ticket")
	randomParams  = lex.Set("state sid session appid")
)

// IsParameter reports whether a parameter is a credential, by its name and its value.
func IsParameter(name string, text []byte) bool {
	value := parameterValue(text[:min(len(text), jsonscan.MaxNested)])
	lower := strings.ToLower(name)
	isSecret := isParameterSecret(name) || values.HasSecretForm(value) ||
		unclearParams[lower] && (values.HasEntropy(value) || values.IsRandomLetters(value)) ||
		randomParams[lower] && values.IsRandom(value)
	return isSecret && !values.IsReference(value)
}

// pairSecrets appends the values of the pairs in raw, from at, that have the names of
// credentials, and the credentials inside other values.
func pairSecrets(raw []byte, at int, out []lex.Span) []lex.Span {
	for name, value := range PairsIn(raw, at) {
		text := value.In(raw)
		switch {
		case IsParameter(name, text):
			out = append(out, value)
		case bytes.IndexByte(text, ';') >= 0:
			out = lex.AppendShifted(out, afterSemicolon(text), value.Start)
		default:
			out = lex.AppendShifted(out, parameterIn(text), value.Start)
		}
	}
	return out
}

// PairsNamed appends the values of the pairs in raw, from at, whose names are wanted.
func PairsNamed(raw []byte, at int, out []lex.Span, isWanted func(name string) bool) []lex.Span {
	for name, value := range PairsIn(raw, at) {
		if isWanted(name) {
			out = append(out, value)
		}
	}
	return out
}

// PairsIn yields the decoded names of the pairs in raw, from at, and where their values are.
// Pairs without a value are left out. A name longer than MaxNested is cut.
func PairsIn(raw []byte, at int) iter.Seq2[string, lex.Span] {
	return func(yield func(string, lex.Span) bool) {
		for at < len(raw) {
			end := len(raw)
			if n := bytes.IndexAny(raw[at:], "&#?"); n >= 0 {
				end = at + n
			}
			name, value, _ := bytes.Cut(raw[at:end], []byte("="))
			if len(value) > 0 && !yield(parameterName(name), lex.Between(end-len(value), end)) {
				return
			}
			at = end + 1
		}
	}
}

// parameterName returns the name of a parameter, decoded.
func parameterName(raw []byte) string { return parameterValue(raw[:min(len(raw), jsonscan.MaxNested)]) }

// parameterValue returns a part of a query, decoded.
func parameterValue(raw []byte) string {
	if plain, err := url.QueryUnescape(string(raw)); err == nil {
		return plain
	}
	return string(raw)
}
