package recorder

import (
	"errors"
	"time"

	"github.com/meerkat-go/conformance/internal/app/version"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

// recording is a session's work in record mode.
type recording struct {
	*record.Recorder
	path   string
	writer *cassette.Writer
}

func (a *app) recording(f *flags, redactor *redact.Redactor) (work, error) {
	bases, err := f.upstreams()
	if err != nil {
		return nil, err
	}
	roots, err := a.roots(f)
	if err != nil {
		return nil, err
	}
	transport, err := proxy.NewTransport(bases, roots)
	if err != nil {
		return nil, usage("%w", err)
	}
	guard := gate.New()
	for _, secret := range a.secrets() {
		guard.Learn(secret)
	}
	meta := cassette.Meta{Provenance: provenance(bases), Tool: "recorder " + version.String(),
		Created: time.Now().UTC().Format(time.RFC3339), Redaction: redactor.Rules()}
	writer, err := cassette.Create(f.cassette, meta, cassette.CreateOptions{Force: f.force})
	if err != nil {
		return nil, usage("%w", err)
	}
	rec, err := record.New(record.Config{Transport: transport, Writer: writer, Redactor: guard.Watch(redactor), Gate: guard.Check})
	if err != nil {
		return nil, errors.Join(err, writer.Discard())
	}
	return &recording{rec, f.cassette, writer}, nil
}

// provenance: only what the providers' own hosts said is live.
func provenance(upstream map[string]string) string {
	if len(upstream) > 0 {
		return cassette.ProvenanceSynthetic
	}
	return cassette.ProvenanceLive
}

func (r *recording) finish(a *app) int {
	report := r.Close()
	for _, line := range report.Refused {
		a.say("not saved: %s", line)
	}
	for _, line := range report.Lost {
		a.say("lost: %s", line)
	}
	for _, line := range report.Cut {
		a.say("cut short: %s", line)
	}
	err := r.writer.Close()
	switch {
	case err != nil:
		a.say("%v", err)
	default:
		a.say("%s: %s saved", r.path, interactions(report.Saved))
	}
	switch {
	case len(report.Refused) > 0:
		return exitGate
	case err != nil && !errors.Is(err, cassette.ErrEmpty):
		return exitInternal
	case err != nil || len(report.Lost)+len(report.Cut) > 0:
		return exitIncomplete
	}
	return exitOK
}

func (r *recording) abandon() {
	r.Close()
	_ = r.writer.Discard()
}
