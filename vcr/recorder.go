package vcr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"sync"
	"testing"

	vcrcassette "github.com/dnaeon/go-vcr/v2/cassette"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/replay"
	_ "github.com/meerkat-go/conformance/wires/all" // the built-in wires
)

// Mode says where the replies come from. The modes are those of go-vcr v2.
type Mode int

// The modes.
const (
	// ModeRecording asks the service and records. An existing cassette is continued.
	ModeRecording Mode = iota
	// ModeReplaying answers from the cassette only.
	ModeReplaying
	// ModeDisabled asks the service and keeps nothing.
	ModeDisabled
	// ModeReplayingOrRecording answers from the cassette, and records what it lacks.
	ModeReplayingOrRecording
)

// Passthrough reports whether a request goes to the service, unrecorded.
type Passthrough func(*http.Request) bool

// Recorder records and replays. It is an [http.RoundTripper], safe for concurrent
// use. Configure it before its first request.
type Recorder struct {
	// Passthroughs are asked about every request, see [Recorder.AddPassthrough].
	Passthroughs []Passthrough
	// SkipRequestLatency replays without waiting. Otherwise a reply takes as long as
	// it took when it was recorded, chunk by chunk.
	SkipRequestLatency bool

	name      string // of the cassette, without .yaml
	mode      Mode
	replace   bool // record a new cassette, instead of continuing the old one
	wholeOnly bool // incomplete replies are not kept
	transport http.RoundTripper
	matcher   vcrcassette.Matcher // nil: requests are matched by replayer, at level
	level     replay.Level
	repeats   bool // an interaction answers any number of requests
	filters   []vcrcassette.Filter
	test      testing.TB // that of ForTest, else nil
	redaction redaction

	recorded   *cassette.Cassette // nil when there is nothing to replay
	replayer   *replay.Replayer   // answers from recorded, without a matcher
	candidates candidates         // answers from recorded, with a matcher
	startOnce  sync.Once
	startErr   error

	recording recording
	seen      seenList
	missing   sentences // about requests without an answer
	cut       sentences // about replies that broke off
}

// New replays the cassette name.yaml.
func New(cassetteName string) (*Recorder, error) {
	return NewAsMode(cassetteName, ModeReplaying, nil)
}

// NewAsMode returns a recorder for the cassette name.yaml. realTransport reaches the
// service; nil means [http.DefaultTransport]. A cassette that does not exist is
// go-vcr's ErrCassetteNotFound in ModeReplaying, and ModeRecording in
// ModeReplayingOrRecording. Requests are matched as go-vcr does, by method and URL,
// until [Recorder.SetMatcher] says otherwise.
func NewAsMode(cassetteName string, mode Mode, realTransport http.RoundTripper) (*Recorder, error) {
	r := &Recorder{name: cassetteName, mode: mode, transport: realTransport, matcher: vcrcassette.DefaultMatcher,
		redaction: newRedaction()}
	if r.transport == nil {
		r.transport = http.DefaultTransport
	}
	if err := r.openCassette(); err != nil {
		return nil, err
	}
	return r, nil
}

// openCassette opens what there is to replay. A recording that was interrupted is finished
// first, unless the mode is ModeReplaying.
func (r *Recorder) openCassette() error {
	if r.mode == ModeDisabled {
		return nil
	}
	if r.mode != ModeReplaying && errors.Is(cassette.Unfinished(r.file()), cassette.ErrTorn) {
		if _, err := cassette.Recover(r.file()); err != nil {
			return err
		}
	}
	recorded, err := cassette.Open(r.file())
	switch {
	case errors.Is(err, fs.ErrNotExist) && r.mode == ModeReplaying:
		return vcrcassette.ErrCassetteNotFound
	case errors.Is(err, fs.ErrNotExist):
		r.mode = ModeRecording
		return nil
	case err == nil && r.mode != ModeRecording:
		r.recorded = recorded
	}
	return err
}

func (r *Recorder) file() string { return r.name + ".yaml" }

// Mode returns the mode, which is ModeRecording where there was nothing to replay.
func (r *Recorder) Mode() Mode { return r.mode }

// SetTransport sets what reaches the service.
func (r *Recorder) SetTransport(t http.RoundTripper) { r.transport = t }

// SetMatcher replaces how a request finds its reply: the first interaction answers that was not
// replayed yet and for which matcher returns true. Where redaction replaced a secret in the
// recorded request, matcher sees what the live request has there instead.
func (r *Recorder) SetMatcher(matcher vcrcassette.Matcher) { r.matcher = matcher }

// SetLevel sets the loosest level at which a recorder of [ForTest] answers.
func (r *Recorder) SetLevel(level replay.Level) { r.level = level }

// SetReplayableInteractions lets each interaction answer any number of requests.
func (r *Recorder) SetReplayableInteractions(replayable bool) { r.repeats = replayable }

// AddPassthrough adds a function that exempts requests from recording and replay.
func (r *Recorder) AddPassthrough(pass Passthrough) { r.Passthroughs = append(r.Passthroughs, pass) }

// AddFilter adds a function that changes an interaction before it is saved. It sees
// the interaction after redaction, when its reply has ended. An error keeps the
// interaction from being saved, and Stop returns it.
func (r *Recorder) AddFilter(filter vcrcassette.Filter) { r.filters = append(r.filters, filter) }

// AddSaveFilter is [Recorder.AddFilter]: an interaction is saved when it has ended.
func (r *Recorder) AddSaveFilter(filter vcrcassette.Filter) { r.AddFilter(filter) }

// Stop ends a recording, and returns what could not be saved. A recorder that only
// replays goes on.
func (r *Recorder) Stop() error {
	k := &r.recording
	k.settle()
	k.saveOnce.Do(func() { k.saveErr = k.save(r) })
	return k.saveErr
}

// RoundTrip answers a request from the cassette or from the service, as the mode
// says. A request that has no answer is go-vcr's ErrInteractionNotFound; with
// [ForTest] it is status 400, so that no client tries again, and fails the test.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.mode == ModeDisabled || r.passes(req) {
		return r.transport.RoundTrip(req)
	}
	answer, err := r.findAnswer(req)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	return r.askHandler(answer, req)
}

func (r *Recorder) passes(req *http.Request) bool {
	for _, passes := range r.Passthroughs {
		if passes(req) {
			return true
		}
	}
	return false
}

// findAnswer returns what answers a request.
func (r *Recorder) findAnswer(req *http.Request) (http.Handler, error) {
	if err := context.Cause(req.Context()); err != nil {
		return nil, err
	}
	r.startOnce.Do(func() { r.startErr = r.start() })
	switch {
	case r.startErr != nil:
		return nil, r.startErr
	case r.recorded == nil:
		return http.HandlerFunc(r.record), nil
	case r.replayer != nil:
		return r.replayer, nil
	}
	found, err := r.candidates.find(r, req) //nolint:contextcheck // matchers of go-vcr take a request without a context
	switch {
	case err != nil:
		return nil, err
	case found != nil:
		return found, nil
	case r.mode == ModeReplaying:
		r.missing.add(fmt.Sprintf("%s: no interaction matches %s %s", r.file(), req.Method, req.URL.Redacted()))
		return nil, vcrcassette.ErrInteractionNotFound
	}
	return http.HandlerFunc(r.record), nil
}

// start makes the replayer, at the first request, when the configuration is complete.
func (r *Recorder) start() (err error) {
	if r.recorded == nil || r.matcher != nil {
		return nil
	}
	cfg := replay.Config{Cassette: r.recorded, Redactor: r.redaction.redactor, Mask: r.redaction.maskRequest,
		Match: r.level, Timing: r.timing(), Repeat: r.repeats,
		Observe: r.observeReplay, Log: r.missing.add, Record: r.recordCommand()}
	if r.mode == ModeReplayingOrRecording {
		cfg.Fallback = http.HandlerFunc(r.record)
	}
	r.replayer, err = replay.New(cfg)
	return err
}

func (r *Recorder) timing() replay.Timing {
	if r.SkipRequestLatency {
		return replay.None
	}
	return replay.Recorded
}

// CancelRequest passes a cancellation on to a transport that has this method.
//
// Deprecated: cancel the request's context.
func (r *Recorder) CancelRequest(req *http.Request) {
	if t, ok := r.transport.(interface{ CancelRequest(*http.Request) }); ok {
		t.CancelRequest(req)
	}
}
