package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
	"github.com/meerkat-go/conformance/simulator"
)

// What a committed cassette says that would otherwise differ from run to run.
const (
	// recordedAt is the time by the simulator's clock.
	recordedAt = "2026-11-21T09:00:00Z"
	// nominalDelay is the time from one piece of a reply to the next.
	nominalDelay = 10 * time.Millisecond
	// recordedBy has no version: what it writes does not depend on it.
	recordedBy = "make cassettes"
)

// Record runs c through the recording proxy with the simulator behind it, and
// keeps what passed as the cassette of c below dir. Its bytes depend neither on
// the time, the machine and the user, nor on how busy the machine is. changed
// reports whether the file differs from before. Anything that does not go as
// scripted is an error and leaves the old cassette in place.
func (r *Runner) Record(ctx context.Context, c Case, dir string) (changed bool, err error) {
	scratch, err := os.MkdirTemp(r.dir, "record-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // Close removes the runner's folder as well
	fresh := filepath.Join(scratch, "fresh.yaml")
	if err := r.recordTo(ctx, c, fresh); err != nil {
		return false, fmt.Errorf("%s: %w", c.Name(), err)
	}
	return replaceCassette(fresh, filepath.Join(dir, filepath.FromSlash(c.CassettePath())))
}

// recordTo writes the cassette at path.
func (r *Runner) recordTo(ctx context.Context, c Case, path string) error {
	redactor, lastCheck := redact.New([]byte(committedSeed)), gate.New()
	out, err := cassette.Create(path, cassette.Meta{
		Declared: declaredFlags(c), Provenance: cassette.ProvenanceSimulator, Tool: recordedBy, Created: recordedAt,
		Redaction: redactor.Rules(),
	}, cassette.CreateOptions{})
	if err != nil {
		return err
	}
	asked := Permutation{Case: c, Source: evidence.SourceSimulator}
	capture := newCapture(asked, committedSeed, r.Subject.About())
	recorder, err := record.New(record.Config{Transport: unmarked{simulator.Transport(capture.newScript(nil))},
		Nominal: nominalDelay,
		Writer:  out, Redactor: lastCheck.Watch(redactor), Gate: lastCheck.Check})
	if err != nil {
		return errors.Join(err, out.Discard())
	}
	processes, err := r.runSteps(ctx, asked, capture.countRequests(oneAtATime(recorder)), capture)
	report := recorder.Close()
	_, deviations := capture.finish(processes)
	deviations = append(append(deviations, report.Refused...), report.Lost...)
	if err == nil && len(deviations) > 0 {
		err = errors.New(strings.Join(deviations, "; "))
	}
	if err != nil {
		return errors.Join(err, out.Discard())
	}
	return out.Close()
}

// unmarked takes the simulator's mark off replies: the head of the cassette already
// says who answered. It stays on refusals that the scenario asked for, which the request
// did not earn.
type unmarked struct{ next http.RoundTripper }

// RoundTrip asks the simulator.
func (u unmarked) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := u.next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusOK {
		resp.Header.Del(simulator.Mark)
	}
	return resp, err
}

// oneAtATime lets a request begin when the previous one is in the recording: a
// client may be done with a reply before the recorder is.
func oneAtATime(next http.Handler) http.Handler {
	var turn sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		turn.Lock()
		defer turn.Unlock()
		next.ServeHTTP(w, r)
	})
}

// declaredFlags is what the cassette of c declares about itself: times that were
// not measured, and replies that the script breaks off, if there are any.
func declaredFlags(c Case) []string {
	for _, turn := range c.Scenario.Turns {
		if turn.Cut != nil || turn.Stall != nil {
			return []string{cassette.DeclaredIncomplete, cassette.DeclaredNominal}
		}
	}
	return []string{cassette.DeclaredNominal}
}

// replaceCassette puts the cassette fresh in place of old unless both are the
// same.
func replaceCassette(fresh, old string) (changed bool, err error) {
	data, err := os.ReadFile(fresh)
	if err != nil {
		return false, err
	}
	if before, err := os.ReadFile(old); err == nil && bytes.Equal(before, data) {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(old), 0o755); err != nil { //nolint:gosec // a folder of the repository
		return false, err
	}
	return true, fileutil.WriteFile(old, data, 0o644) // holds no secret and is committed
}

// VerifyCassette checks that the cassette of c in recordings is whole, sealed and
// recorded from the simulator with nominal times. Every verdict of the cassette
// source rests on it. A case without a cassette passes.
func VerifyCassette(c Case, recordings fs.FS) error {
	if !c.HasCassette() {
		return nil
	}
	recording, err := cassette.OpenFS(recordings, c.CassettePath())
	if err != nil {
		return err
	}
	if !recording.Sealed() {
		return fmt.Errorf("%s: has no seals; record it again with: make cassettes", recording.Name())
	}
	if err := recording.Verify(); err != nil {
		return err
	}
	if meta := recording.Meta(); meta.Provenance != cassette.ProvenanceSimulator || !meta.Nominal() {
		return fmt.Errorf("%s: says it is %s, with nominal times: %t; committed cassettes are %s, with nominal times",
			recording.Name(), meta.Provenance, meta.Nominal(), cassette.ProvenanceSimulator)
	}
	return nil
}
