package play

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/conform/scenario"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
	"github.com/meerkat-go/conformance/simulator"
)

// Script returns what answers when the cassette of p is recorded.
func Script(p scenario.Play) http.Handler { return scripted(p, 0) }

func scripted(p scenario.Play, pace time.Duration) http.Handler {
	return simulator.New(simulator.Config{Scenario: p.Scenario, Seed: seed, Pace: pace})
}

const (
	// seed is that of every committed cassette.
	seed = "committed cassettes"
	// pace lets writes arrive one by one.
	pace = time.Millisecond
)

// Record plays p through the recording proxy with the scripted upstream behind
// it, and keeps what passed as the cassette of p below dir. tool goes into the
// cassette's meta. A cassette that says the same, apart from times, stays as it
// is; changed reports whether it did not. Anything that does not go as scripted
// is an error and leaves the old cassette in place.
func (s *Stage) Record(ctx context.Context, p scenario.Play, dir, tool string) (changed bool, err error) {
	upstream, err := simulator.Start("", scripted(p, pace))
	if err != nil {
		return false, err
	}
	defer upstream.Close()
	scratch, err := os.MkdirTemp(s.dir, "record-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // the stage's folder goes as well
	fresh := filepath.Join(scratch, "fresh.yaml")
	if err := s.record(ctx, p, upstream, fresh, tool); err != nil {
		return false, fmt.Errorf("%s: %w", p.Name(), err)
	}
	return install(fresh, filepath.Join(dir, filepath.FromSlash(p.Cassette())))
}

// record writes the cassette at path.
func (s *Stage) record(ctx context.Context, p scenario.Play, upstream *simulator.Server, path, tool string) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(upstream.CA)
	transport, err := proxy.NewTransport(map[string]string{p.Target.Provider: upstream.URL}, roots)
	if err != nil {
		return err
	}
	if idle, ok := transport.(interface{ CloseIdleConnections() }); ok {
		defer idle.CloseIdleConnections()
	}
	redactor, last := redact.New([]byte(seed)), gate.New()
	out, err := cassette.Create(path, cassette.Meta{
		Declared:   declared(p),
		Provenance: cassette.ProvenanceSynthetic, Tool: tool,
		Created: time.Now().UTC().Format(time.RFC3339), Redaction: redactor.Rules(),
	}, cassette.CreateOptions{})
	if err != nil {
		return err
	}
	w := newWitness(p)
	recorder, err := record.New(record.Config{Transport: transport, Writer: out, Redactor: last.Watch(redactor), Gate: last.Check})
	if err != nil {
		return errors.Join(err, out.Discard())
	}
	processes, err := s.Act(ctx, p, w.count(recorder), w.step)
	report := recorder.Close()
	_, trouble := w.report(processes)
	trouble = append(append(trouble, report.Refused...), report.Lost...)
	if err == nil && len(trouble) > 0 {
		err = errors.New(strings.Join(trouble, "; "))
	}
	if err != nil {
		return errors.Join(err, out.Discard())
	}
	return out.Close()
}

// declared is what the cassette of p is meant to hold: replies that the script
// cuts.
func declared(p scenario.Play) []string {
	for _, turn := range p.Scenario.Turns {
		if turn.Cut != nil {
			return []string{cassette.DeclaredIncomplete}
		}
	}
	return nil
}

// install puts the cassette fresh in place of old unless both say the same.
func install(fresh, old string) (changed bool, err error) {
	same, err := sameTape(fresh, old)
	if err != nil || same {
		return false, err
	}
	data, err := os.ReadFile(fresh)
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(old), 0o755); err != nil { //nolint:gosec // a folder of the repository
		return false, err
	}
	temporary := old + ".new"
	if err := os.WriteFile(temporary, data, 0o644); err != nil { //nolint:gosec // holds no secret and is committed
		return false, err
	}
	return true, os.Rename(temporary, old)
}

// sameTape compares everything but times. A cassette that is not there, or
// cannot be read, is another one.
func sameTape(fresh, old string) (bool, error) {
	a, err := cassette.Open(fresh)
	if err != nil {
		return false, err
	}
	b, err := cassette.Open(old)
	if err != nil {
		return false, ignoreUnreadable(err)
	}
	m, n := a.Meta(), b.Meta()
	if a.Len() != b.Len() || m.Provenance != n.Provenance || !slices.Equal(m.Redaction, n.Redaction) || !slices.Equal(m.Declared, n.Declared) {
		return false, nil
	}
	for i := range a.Len() {
		x, err := a.At(i)
		if err != nil {
			return false, err
		}
		y, err := b.At(i)
		if err != nil || !sameInteraction(x, y) {
			return false, nil //nolint:nilerr // what cannot be read is another one
		}
	}
	return true, nil
}

func ignoreUnreadable(err error) error {
	var known *cassette.Error
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &known) {
		return nil
	}
	return err
}
