package record_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
)

// A provider's name may lead to a server on this machine. A live cassette says so of
// each reply that came from one.
func TestReplyOfThisMachineIsNotLive(t *testing.T) {
	for head, want := range map[string]string{cassette.ProvenanceLive: cassette.ProvenanceSynthetic,
		cassette.ProvenanceSynthetic: "", "": ""} {
		g := newRig(t, true, record.Config{Provenance: head}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "{}")
		})
		read(t, g.post())
		if got := g.only().Provenance; got != want {
			t.Errorf("head %q: the reply is %q, want %q", head, got, want)
		}
	}
}

func TestNoteOfTheCaller(t *testing.T) {
	g := newRig(t, true, record.Config{Note: func(r *http.Request, in *cassette.Interaction) {
		in.Ingress, in.Process = cassette.IngressBaseURL, len(r.URL.Path)
	}}, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	read(t, g.post())
	if in := g.only(); in.Ingress != cassette.IngressBaseURL || in.Process != len("/v1/messages") {
		t.Errorf("kept ingress %q, process %d", in.Ingress, in.Process)
	}
}
