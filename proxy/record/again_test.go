package record_test

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
)

// What a neighbour taught the gate after a reply was redacted, the redactor has
// learnt, too: it is asked once more, about the reply as it came, before that is
// refused. A gate that listens learns secrets from what the redactor is given: it
// must not be given pseudonyms.
func TestRefusedIsRedactedAgain(t *testing.T) {
	var given []string
	redactor := asIs(func(in cassette.Interaction) cassette.Interaction {
		given = append(given, string(in.Response.Body))
		in.Response.Body = []byte(`"REDACTED"`)
		return in
	})
	g := newRig(t, false, record.Config{Redactor: redactor, Gate: func(cassette.Interaction) error {
		if len(given) == 1 {
			return errors.New("holds a secret")
		}
		return nil
	}}, say(`"a secret"`))
	read(t, g.post())
	if r := g.close(); r.Saved != 1 || !slices.Equal(given, []string{`"a secret"`, `"a secret"`}) {
		t.Errorf("report %+v after redactions of %q", r, given)
	}
}

// An exchange that is prepared again, to take out what the gate found, is the one that
// came: decompressed both times.
func TestMaskedReplyWasCompressed(t *testing.T) {
	var learnt bool
	redactor := asIs(func(in cassette.Interaction) cassette.Interaction {
		if in.Response.Encoding != "gzip" || string(in.Response.Body) != `"a secret"` {
			t.Errorf("the redactor sees %q, which was %q", in.Response.Body, in.Response.Encoding)
		}
		if learnt {
			in.Response.Body = []byte(`"REDACTED"`)
		}
		return in
	})
	g := newRig(t, false, record.Config{Redactor: redactor,
		Gate: func(in cassette.Interaction) error {
			if string(in.Response.Body) == `"a secret"` {
				return errors.New("holds a secret")
			}
			return nil
		},
		Mask: func(error) bool { isNew := !learnt; learnt = true; return isNew },
	}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write([]byte(`"a secret"`))
		_ = z.Close()
	})
	read(t, g.post())
	if r := g.close(); r.Saved != 1 || len(r.Masked) != 1 {
		t.Errorf("report %+v", r)
	}
}

// Two secrets that the gate describes alike are both taken out; one that the redactor
// knows and does not find is refused.
func TestMaskAlike(t *testing.T) {
	for body, want := range map[string]struct{ saved, masked, refused int }{
		"first second": {1, 2, 0},
		"hidden":       {0, 0, 1},
		"first hidden": {0, 0, 1},
	} {
		known := map[string]bool{}
		replaced := func(text string) string {
			for secret := range known {
				if secret != "hidden" {
					text = strings.ReplaceAll(text, secret, strings.Repeat("R", len(secret)))
				}
			}
			return text
		}
		g := newRig(t, false, record.Config{
			Redactor: asIs(func(in cassette.Interaction) cassette.Interaction {
				in.Response.Body = []byte(replaced(string(in.Response.Body)))
				return in
			}),
			Gate: func(in cassette.Interaction) error {
				for secret := range strings.FieldsSeq(string(in.Response.Body)) {
					if !strings.HasPrefix(secret, "R") {
						return refusal(secret)
					}
				}
				return nil
			},
			Mask: func(err error) bool {
				var secret refusal
				_ = errors.As(err, &secret)
				isNew := !known[string(secret)]
				known[string(secret)] = true
				return isNew
			},
		}, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		read(t, g.post())
		if r := g.close(); r.Saved != want.saved || len(r.Masked) != want.masked || len(r.Refused) != want.refused {
			t.Errorf("%s: report %+v", body, r)
		}
	}
}

// refusal describes every secret alike.
type refusal string

func (refusal) Error() string { return "holds a secret" }
