package vcr

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// redaction takes secrets out, and refuses to save what still looks like one.
type redaction struct {
	redactor *redact.Redactor
	gate     *gate.Gate
	mask     *redact.Redactor // for what is said of requests
}

// newRedaction returns a redaction that knows the secrets in the environment.
func newRedaction() redaction {
	r := redaction{redact.New(nil), gate.New(), redact.New(nil)}
	secrets := redact.EnvironmentSecrets(os.Environ())
	r.redactor.Learn(secrets...)
	r.gate.Learn(secrets...)
	return r
}

// maskRequest is for [replay.Config]: it takes out of a redacted request what looks like a key,
// which a test must not print.
func (r redaction) maskRequest(in cassette.Request) cassette.Request {
	return r.gate.MaskRequest(in, r.mask)
}

// lastLook is for [cassette.Writer.Revise].
func (r redaction) lastLook() (again func(cassette.Interaction) (cassette.Interaction, error), first int) {
	return record.LastLook(r.redactor, r.gate)
}

// drain bounds how much of a reply is read after its client has left, so that the whole reply
// is kept.
var drain = record.Drain{Bytes: 64 << 20, Time: 10 * time.Second}

// recording is the new part of the cassette. Its file is opened at the first request that is
// recorded.
type recording struct {
	mu       sync.Mutex // guards stopped, err and saved, and the making of recorder and writer
	stopped  bool
	recorder *record.Recorder
	writer   *cassette.Writer
	err      error // why there is no recorder
	saved    int   // interactions in the file

	requests sync.WaitGroup // those that are being recorded
	open     openBodies

	settleOnce, saveOnce sync.Once
	report               record.Report // set by settle
	saveErr              error
}

// record asks the service and keeps the reply.
func (r *Recorder) record(w http.ResponseWriter, req *http.Request) {
	recorder, err := r.recording.begin(r)
	if err != nil {
		if x, ok := req.Context().Value(exchangeKey{}).(*exchange); ok {
			x.failure = err
		}
		w.Header().Set("X-Recorder-Error", "not recorded")
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer r.recording.requests.Done()
	recorder.ServeHTTP(w, req)
}

// begin returns the recorder for one more request.
func (k *recording) begin(r *Recorder) (*record.Recorder, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.stopped:
		return nil, fmt.Errorf("%s: the recording has ended; send requests before Stop, and before the end of the test",
			r.file())
	case k.recorder == nil && k.err == nil:
		k.err = k.openFile(r)
	}
	if k.err != nil {
		return nil, k.err
	}
	k.requests.Add(1)
	return k.recorder, nil
}

// openFile starts the cassette and its recorder; mu is held.
func (k *recording) openFile(r *Recorder) (err error) {
	meta := cassette.Meta{Provenance: r.provenance(), Tool: "vcr", Created: time.Now().UTC().Format(time.RFC3339),
		Redaction: r.redaction.redactor.Rules(), Matching: replay.Rules()}
	if k.writer, err = r.openWriter(meta); err != nil {
		return err
	}
	k.writer.Revise(r.redaction.lastLook)
	k.recorder, err = record.New(record.Config{
		Transport: realTransport{func() http.RoundTripper { return r.transport }}, Writer: filteringWriter{r},
		Observe:  r.observeRecorded,
		Redactor: r.redaction.gate.Watch(r.redaction.redactor), Gate: r.redaction.gate.Check,
		Provenance: meta.Provenance,
		Note:       func(_ *http.Request, in *cassette.Interaction) { in.Started = time.Now() },
		OnAbort:    drain, WholeOnly: r.wholeOnly,
	})
	if err != nil {
		return errors.Join(err, k.writer.Discard())
	}
	return nil
}

// provenance returns what may be claimed of the replies. A transport that is not net/http's may
// lead anywhere.
func (r *Recorder) provenance() string {
	if _, ok := r.transport.(*http.Transport); ok {
		return cassette.ProvenanceLive
	}
	return cassette.ProvenanceSynthetic
}

// openWriter opens the cassette for what is recorded now: a new file, or the old one
// with everything in it.
func (r *Recorder) openWriter(meta cassette.Meta) (*cassette.Writer, error) {
	path := r.file()
	if r.replace {
		return cassette.Create(path, meta, cassette.CreateOptions{Force: true})
	}
	writer, err := cassette.Extend(path, meta)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cassette.Create(path, meta, cassette.CreateOptions{})
	case errors.Is(err, cassette.ErrUnsealed):
		return r.adoptCassette(meta)
	}
	return writer, err
}

// adoptCassette starts the successor of a cassette that go-vcr wrote, with all its
// interactions. Its provenance is import, because the old file does not say who answered.
func (r *Recorder) adoptCassette(meta cassette.Meta) (*cassette.Writer, error) {
	old, err := cassette.Open(r.file())
	if err != nil {
		return nil, err
	}
	meta.Provenance = cassette.ProvenanceImport
	writer, err := cassette.Create(r.file(), meta, cassette.CreateOptions{Force: true})
	if err != nil {
		return nil, err
	}
	watched := r.redaction.gate.Watch(r.redaction.redactor)
	for in, err := range old.All() {
		if err == nil {
			in = watched.Interaction(in)
			err = r.redaction.gate.Check(in)
		}
		if err == nil {
			err = writer.Append(in)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: cannot be continued: %w", r.file(), err), writer.Discard())
		}
	}
	return writer, nil
}

// filteringWriter applies the filters to what is saved.
type filteringWriter struct{ r *Recorder }

// AppendAll saves what the filters let through.
func (f filteringWriter) AppendAll(ins []cassette.Interaction) []error {
	errs := make([]error, len(ins))
	var places []int
	var kept []cassette.Interaction
	for i, in := range ins {
		if in, errs[i] = f.filter(in); errs[i] == nil {
			places, kept = append(places, i), append(kept, in)
		}
	}
	k := &f.r.recording
	for i, err := range k.writer.AppendAll(kept) {
		if errs[places[i]] = err; err == nil {
			k.mu.Lock()
			k.saved++
			k.mu.Unlock()
		}
	}
	return errs
}

func (f filteringWriter) filter(in cassette.Interaction) (cassette.Interaction, error) {
	if len(f.r.filters) == 0 {
		return in, nil
	}
	out, err := applyFilters(f.r.filters, in)
	if err != nil {
		return in, fmt.Errorf("a filter refused it: %w", err)
	}
	return out, f.r.redaction.gate.Check(out) // a filter may have put a secret back
}

// settle closes the replies that are still open, and waits until every exchange is in the file.
// No further request is recorded.
func (k *recording) settle() {
	k.settleOnce.Do(func() {
		k.mu.Lock()
		k.stopped = true
		k.mu.Unlock()
		k.open.closeAll()
		k.requests.Wait()
		if k.recorder != nil {
			k.report = k.recorder.Close()
		}
	})
}

// save finishes the file, or removes it when it has nothing new. The error says what was not
// saved.
func (k *recording) save(r *Recorder) error {
	if k.recorder == nil {
		return nil
	}
	var problems []error
	for _, sentence := range k.report.Refused {
		problems = append(problems, fmt.Errorf("%s: not saved: %s", r.file(), sentence))
	}
	for _, sentence := range k.report.Lost {
		problems = append(problems, fmt.Errorf("%s: lost: %s", r.file(), sentence))
	}
	if k.saved == 0 || r.keepsOld() {
		return errors.Join(append(problems, k.writer.Discard())...)
	}
	k.writer.Lose(cassette.Loss{Lost: len(k.report.Lost) + len(k.report.Refused)})
	return errors.Join(append(problems, k.writer.Close())...)
}

// keepsOld reports whether the old cassette stays although it was to be replaced: the test
// failed.
func (r *Recorder) keepsOld() bool {
	if !r.replace || r.test == nil || !r.test.Failed() {
		return false
	}
	_, err := os.Stat(r.file())
	return err == nil
}
