package jsonscan

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{``, `a`, `\`, `\n\t\"\\\/`, `\u0041\u00e9\u20ac`, `\u12`, `\ud83d\ude00`, `%41%4`,
		`a%zz+b`, "{\\\"a\\\":\\\"b\\\"}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for kind, d := range map[string]Decoded{"JSON": DecodeJSON([]byte(raw)), "URL": DecodeURL(raw)} {
			if len(d.at) != len(d.Text)+1 || d.at[len(d.Text)] != len(raw) {
				t.Fatalf("%s: %d bytes, %d offsets: %v", kind, len(d.Text), len(d.at), d.at)
			}
			for i, at := range d.at[1:] {
				if at < d.at[i] {
					t.Fatalf("%s: offset %d after %d", kind, at, d.at[i])
				}
			}
		}
		if plain := lex.UnquoteJSON([]byte(raw)); plain != raw && !strings.Contains(raw, `\u`) &&
			utf8.ValidString(raw) && string(DecodeJSON([]byte(raw)).Text) != plain {
			t.Errorf("%q: %q, want %q", raw, DecodeJSON([]byte(raw)).Text, plain)
		}
		if plain, err := url.QueryUnescape(raw); err == nil && string(DecodeURL(raw).Text) != plain {
			t.Errorf("%q: %q, want %q", raw, DecodeURL(raw).Text, plain)
		}
	})
}
