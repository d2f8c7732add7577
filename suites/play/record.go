package play

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/conform/scenario"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/simulator/script"
)

// Script returns what answers when the cassette of p is recorded: the simulator
// at its strictest, with a clock and a seed of its own.
func Script(p scenario.Play) http.Handler { return scripted(p, nil) }

func scripted(p scenario.Play, told func(*script.Mismatch)) http.Handler {
	return simulator.New(simulator.Config{Scenario: p.Scenario, Seed: seed, Mismatch: told})
}

// What a committed cassette says that would otherwise differ from run to run.
const (
	// seed is that of every id, token and pseudonym.
	seed = scenario.Seed
	// created is the time by the simulator's clock.
	created = "2026-11-21T09:00:00Z"
	// nominal is the time from one piece of a reply to the next.
	nominal = 10 * time.Millisecond
	// tool has no version: what it writes does not depend on it.
	tool = "make cassettes"
)

// Record plays p through the recording proxy with the simulator behind it, and
// keeps what passed as the cassette of p below dir. Where, when and by whom, and
// how busy the machine is, makes no difference to its bytes. changed reports
// whether they are others than before. Anything that does not go as scripted is
// an error and leaves the old cassette in place.
func (s *Stage) Record(ctx context.Context, p scenario.Play, dir string) (changed bool, err error) {
	scratch, err := os.MkdirTemp(s.dir, "record-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // the stage's folder goes as well
	fresh := filepath.Join(scratch, "fresh.yaml")
	if err := s.record(ctx, p, fresh); err != nil {
		return false, fmt.Errorf("%s: %w", p.Name(), err)
	}
	return install(fresh, filepath.Join(dir, filepath.FromSlash(p.Cassette())))
}

// record writes the cassette at path.
func (s *Stage) record(ctx context.Context, p scenario.Play, path string) error {
	redactor, last := redact.New([]byte(seed)), gate.New()
	out, err := cassette.Create(path, cassette.Meta{
		Declared: declared(p), Provenance: cassette.ProvenanceSimulator, Tool: tool, Created: created, Redaction: redactor.Rules(),
	}, cassette.CreateOptions{})
	if err != nil {
		return err
	}
	w := newWitness(p, nil)
	recorder, err := record.New(record.Config{Transport: simulator.Transport(scripted(p, w.mismatch)), Nominal: nominal,
		Writer: out, Redactor: last.Watch(redactor), Gate: last.Check})
	if err != nil {
		return errors.Join(err, out.Discard())
	}
	processes, err := s.Act(ctx, p, w.count(inTurn(recorder)), w.step)
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

// inTurn lets a request begin when the one before is in the recording: a client
// may be done with a reply before the recorder is.
func inTurn(next http.Handler) http.Handler {
	var turn sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		turn.Lock()
		defer turn.Unlock()
		next.ServeHTTP(w, r)
	})
}

// declared is what the cassette of p is meant to hold: times that nobody
// measured, and perhaps replies that the script breaks off.
func declared(p scenario.Play) []string {
	for _, turn := range p.Scenario.Turns {
		if turn.Cut != nil || turn.Stall != nil {
			return []string{cassette.DeclaredIncomplete, cassette.DeclaredNominal}
		}
	}
	return []string{cassette.DeclaredNominal}
}

// install puts the cassette fresh in place of old unless both are the same.
func install(fresh, old string) (changed bool, err error) {
	data, err := os.ReadFile(fresh)
	if err != nil {
		return false, err
	}
	if was, err := os.ReadFile(old); err == nil && bytes.Equal(was, data) {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(old), 0o755); err != nil { //nolint:gosec // a folder of the repository
		return false, err
	}
	return true, fileutil.WriteFile(old, data, 0o644) // holds no secret and is committed
}
