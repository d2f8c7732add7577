package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// secretForms returns the ways in which a secret may be written. Of a long one, the
// beginning is written in other ways.
func secretForms(secret string) (out []form) {
	if len(secret) > maxForm {
		out = append(out, form{secret, false})
		secret = secret[:maxForm]
	}
	for _, text := range writtenForms(secret) {
		out = append(out, form{text, len(secret) < values.MinSecret})
	}
	for _, text := range base64Forms(secret) {
		out = append(out, form{text, false})
	}
	return slices.DeleteFunc(out, func(f form) bool { return len(f.text) < head }) // \u003c is one letter in JSON
}

// writtenForms returns the readable ways to write a secret: as it is, in JSON,
// in JSON inside a JSON string, in a URL.
func writtenForms(secret string) []string {
	out := jsonForms(secret)
	for _, inner := range out {
		out = append(out, jsonForms(inner)...)
	}
	out = append(append(out, secret), urlForms(secret)...)
	slices.Sort(out)
	return slices.Compact(out)
}

// jsonForms returns the ways in which encoders write a text as a string of JSON.
func jsonForms(secret string) (out []string) {
	quoted, _ := json.Marshal(secret) // a string always marshals
	html := string(quoted[1 : len(quoted)-1])
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(html)
	for _, s := range []string{html, plain} {
		out = append(out, s, strings.ReplaceAll(s, "/", `\/`))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// urlForms returns the ways in which a text is escaped in URLs.
func urlForms(secret string) (out []string) {
	for _, s := range []string{url.QueryEscape(secret), url.PathEscape(secret),
		strings.ReplaceAll(url.QueryEscape(secret), "+", "%20")} {
		b := []byte(s)
		for i := 0; i+2 < len(b); i++ {
			if b[i] == '%' {
				copy(b[i:i+3], strings.ToLower(string(b[i:i+3])))
			}
		}
		out = append(out, s, string(b))
	}
	return out
}

// base64Forms returns what every base64 text that contains the secret has in
// common, for each of the three positions in a group of three bytes. Characters
// that depend on the neighbours are left out.
func base64Forms(secret string) (out []string) {
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			text := enc.EncodeToString([]byte("\x00\x00"[:shift] + secret))
			first := (shift*8 + 5) / 6
			whole := (shift + len(secret)) * 8 / 6
			out = append(out, text[first:whole])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
