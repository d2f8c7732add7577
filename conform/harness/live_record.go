package harness

import (
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
)

// liveRecording is what one case with a provider keeps: evidence, and a cassette where
// one is wanted.
type liveRecording struct {
	config     record.Config // for the recorders of the steps
	path       string
	writer     *cassette.Writer // nil where no cassette is wanted
	isAnswered atomic.Bool      // a request was answered with success
}

// replyProvenance is what may be claimed of replies. Only what the providers' own hosts say
// is live, and an authority for a stand-in signs for any host.
func (s *liveSource) replyProvenance() string {
	if len(s.Upstream) > 0 || s.Roots != nil {
		return cassette.ProvenanceSynthetic
	}
	return cassette.ProvenanceLive
}

// openRecording prepares to keep one case.
func (s *liveSource) openRecording(p Permutation, step func() int) (*liveRecording, error) {
	provenance := s.replyProvenance()
	r := &liveRecording{config: record.Config{
		Transport: s.transport, Redactor: s.gate.Watch(s.redactor), Gate: s.gate.Check, Provenance: provenance,
		Note: func(_ *http.Request, in *cassette.Interaction) {
			in.Process = step() + 1
			if p.wayIn() == proxy.BaseURL {
				in.Ingress = cassette.IngressBaseURL
			}
			if provenance != cassette.ProvenanceLive {
				in.Provenance = provenance
			}
		},
	}}
	if s.Record == "" {
		return r, nil
	}
	r.path = s.cassettePath(p)
	var err error
	r.writer, err = cassette.Create(r.path, cassette.Meta{
		Provenance: provenance, Tool: s.Tool, Created: time.Now().UTC().Format(time.RFC3339), Redaction: s.redactor.Rules(),
	}, cassette.CreateOptions{Force: true})
	if err != nil {
		return nil, err
	}
	r.writer.Revise(func() (again func(cassette.Interaction) (cassette.Interaction, error), first int) {
		return record.LastLook(s.redactor, s.gate)
	})
	r.config.Writer = r.writer
	return r, nil
}

// cassettePath is where the recording of p is kept.
func (s *liveSource) cassettePath(p Permutation) string {
	name := p.Case.Scenario.Name
	if p.wayIn() != proxy.MITM {
		name += "@" + p.wayIn()
	}
	return filepath.Join(s.Record, p.Case.Target.Provider, name+".yaml")
}

// close saves the cassette and returns its path. A provider that answered nothing is
// no reason to lose what it said before: the old cassette stays.
func (r *liveRecording) close() (path string, err error) {
	if r == nil || r.writer == nil {
		return "", nil
	}
	if !r.isAnswered.Load() {
		return "", r.writer.Discard()
	}
	return r.path, r.writer.Close()
}
