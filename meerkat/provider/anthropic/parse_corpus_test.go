package anthropic

import (
	"testing"

	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

func TestX(t *testing.T) {
	n := 0
	for _, e := range providertest.Corpus(t, "anthropic") {
		if e.Status != 200 {
			continue
		}
		var r stream.Reply
		var err error
		if e.Streamed() {
			p := NewParser(stream.Options{})
			p.Write(e.Body)
			r, err = p.Close()
		} else {
			r, err = ParseReply(e.Body, stream.Options{})
		}
		n++
		if err != nil {
			t.Logf("%s: %v", e.Name, err)
		}
		for _, a := range r.Anomalies {
			t.Logf("%s: %v", e.Name, a)
		}
	}
	t.Log(n)
}
