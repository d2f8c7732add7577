package harness

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/internal/websocket"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
)

// stepRecorder passes requests on through a recorder that reports to the capture. It
// uses one recorder for each step, so that everything a step caused is known before the
// next one begins. The methods of a nil stepRecorder do nothing.
type stepRecorder struct {
	capture *capture
	config  record.Config // of the recorders
	entry   http.Handler  // what a request passes on its way here, as messages of WebSockets do

	mu       sync.RWMutex // requests hold it for reading
	recorder *record.Recorder
	faults   []error
}

// ServeHTTP passes a request on. A WebSocket may stay open over several steps; each of its
// messages is a request of the step in which it comes.
func (s *stepRecorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.RLock()
	release := sync.OnceFunc(s.mu.RUnlock)
	defer release()
	switch {
	case s.recorder == nil:
		panic(http.ErrAbortHandler) // no step runs
	case websocket.IsUpgrade(r):
		s.recorder.ServeWebSocket(w, r, func() http.Handler {
			release()
			return s.entry
		})
	default:
		s.recorder.ServeHTTP(w, r)
	}
}

// openTimeout is how long the requests of a step may stay open after it. An agent
// that called a prompt off hangs up at once.
const openTimeout = 5 * time.Second

// beginStep waits for the requests of the previous step and begins the next. It
// returns false when a request stays open; the steps then share a recorder.
func (s *stepRecorder) beginStep() bool {
	if s == nil {
		return true
	}
	if !s.lockWhenIdle() {
		return false
	}
	defer s.mu.Unlock()
	s.closeRecorder()
	var err error
	config := s.config
	config.Observe, config.Note = s.observe, s.noteRequest
	if s.recorder, err = record.New(config); err != nil {
		s.faults = append(s.faults, err)
	}
	return true
}

// lockWhenIdle takes mu when no request runs. It does not keep others waiting, as
// Lock would: the agent of a request that stays open may ask again.
func (s *stepRecorder) lockWhenIdle() bool {
	const pause = 5 * time.Millisecond
	for waited := time.Duration(0); waited < openTimeout; waited += pause {
		if s.mu.TryLock() {
			return true
		}
		time.Sleep(pause)
	}
	return false
}

// close ends the last step and returns what went wrong in the harness.
func (s *stepRecorder) close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeRecorder()
	return errors.Join(s.faults...)
}

// noteRequest adds to what the configuration notes of a request when it came, and the
// WebSocket that it came by.
func (s *stepRecorder) noteRequest(r *http.Request, in *cassette.Interaction) {
	if s.config.Note != nil {
		s.config.Note(r, in)
	}
	in.Started = time.Now()
	in.WebSocket = s.capture.sockets.Of(r.Context())
}

func (s *stepRecorder) observe(in cassette.Interaction) { s.capture.observe(in, false) }

// closeRecorder makes the recorder report everything it still has. The caller
// holds mu.
func (s *stepRecorder) closeRecorder() {
	if s.recorder == nil {
		return
	}
	report := s.recorder.Close()
	for _, lost := range append(report.Lost, report.Refused...) {
		s.capture.note(lost)
	}
	s.recorder = nil
}
