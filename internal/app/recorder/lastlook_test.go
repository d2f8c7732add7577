package recorder

import (
	"errors"
	"slices"
	"testing"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

// What the gate alone learns after an interaction was saved keeps it out of the
// cassette; the rest is saved.
func TestLastLookAsksTheGate(t *testing.T) {
	const secret = "learnt-by-the-gate-alone-1"
	k := &modeEnv{Redaction: &Redaction{Redactor: redact.New(nil), Guard: gate.New()}}
	list := []cassette.Interaction{
		{Response: cassette.Response{Status: 200, Body: []byte("says " + secret)}, End: cassette.EndEOF},
		{Response: cassette.Response{Status: 200, Body: []byte("says nothing")}, End: cassette.EndEOF},
	}
	for _, in := range list {
		if err := k.Guard.Check(k.Redactor.Interaction(in)); err != nil {
			t.Fatal(err)
		}
	}
	if again, _ := k.LastLook(); again != nil {
		t.Error("a second look without a reason")
	}
	k.Guard.Learn(secret)
	path := t.TempDir() + "/x.yaml"
	w, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceLive}, cassette.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.Revise(k.LastLook)
	if err := errors.Join(w.AppendAll(list)...); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !IsSecret(err) || ExitOfRecording(record.Report{}, err) != ExitGate {
		t.Errorf("closed with %v", err)
	}
	c, err := cassette.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if in, err := c.At(0); c.Len() != 1 || err != nil || string(in.Response.Body) != "says nothing" {
		t.Errorf("%d interactions, %q, %v", c.Len(), in.Response.Body, err)
	}
}

// drainable notes the order in which works are ended.
type drainable struct {
	modeHandler
	name string
	log  *[]string
}

func (d drainable) drainRecording() { *d.log = append(*d.log, "drain "+d.name) }
func (d drainable) finishRecording(*app, bool) outcome {
	*d.log = append(*d.log, "finish "+d.name)
	return outcome{}
}

// What one session teaches about secrets holds for the cassettes of all: none is
// finished before everything is recorded.
func TestLanesRecordAllBeforeTheyFinishAny(t *testing.T) {
	var log []string
	l := &sessions{env: &modeEnv{flags: &modeFlags{cassette: "{session}.yaml"}}, byName: map[string]*clientSession{}}
	for _, name := range []string{"a", "b"} {
		l.byName[name] = &clientSession{handler: drainable{name: name, log: &log}}
	}
	l.byName["c"] = &clientSession{err: errNoSession}
	a := &app{Frame: cli.New(cli.Program{Name: "recorder"}, nil, t.Output(), t.Output(), nil)}
	if got := l.finishRecording(a, false); got.exit != ExitGate {
		t.Errorf("exit %d", got.exit)
	}
	slices.Sort(log[:2])
	if want := []string{"drain a", "drain b", "finish a", "finish b"}; !slices.Equal(log, want) {
		t.Errorf("%q", log)
	}
}
