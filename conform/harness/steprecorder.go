package harness

import (
	"errors"
	"net/http"
	"sync"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
)

// stepRecorder passes requests to the simulator through a recorder that writes no
// file and reports to the capture. It uses one recorder for each step, so that
// everything a step caused is known before the next one begins. The methods of a
// nil stepRecorder do nothing.
type stepRecorder struct {
	capture  *capture
	redactor *redact.Redactor
	upstream http.RoundTripper

	mu       sync.RWMutex // requests hold it for reading
	recorder *record.Recorder
	faults   []error
}

// ServeHTTP passes a request on.
func (s *stepRecorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.recorder == nil {
		panic(http.ErrAbortHandler) // no step runs
	}
	s.recorder.ServeHTTP(w, r)
}

// beginStep waits for the requests of the previous step and begins the next.
func (s *stepRecorder) beginStep() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeRecorder()
	var err error
	if s.recorder, err = record.New(record.Config{Transport: s.upstream, Redactor: s.redactor, Observe: s.observe}); err != nil {
		s.faults = append(s.faults, err)
	}
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

func (s *stepRecorder) observe(in cassette.Interaction) { s.capture.observe(in, false) }

// closeRecorder makes the recorder report everything it still has. The caller
// holds mu.
func (s *stepRecorder) closeRecorder() {
	if s.recorder == nil {
		return
	}
	for _, lost := range s.recorder.Close().Lost {
		s.capture.note(lost)
	}
	s.recorder = nil
}
