package record_test

import (
	"compress/gzip"
	"errors"
	"net/http"
	"slices"
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
		Mask: func(error) bool { learnt = true; return true },
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
