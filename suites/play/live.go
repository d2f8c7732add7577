package play

import (
	"errors"
	"net/http"
	"sync"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
)

// live answers by the simulator, through a recorder that keeps nothing and tells
// the witness: one for each step, so that all that a step caused is known before
// the next begins. A nil live does nothing.
type live struct {
	w        *witness
	redactor *redact.Redactor
	upstream http.RoundTripper

	mu       sync.RWMutex // held for reading by requests
	recorder *record.Recorder
	faults   []error
}

// ServeHTTP passes a request on.
func (l *live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.recorder == nil {
		panic(http.ErrAbortHandler) // no step runs
	}
	l.recorder.ServeHTTP(w, r)
}

// turn waits for the requests of one step and begins the next.
func (l *live) turn() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
	var err error
	if l.recorder, err = record.New(record.Config{Transport: l.upstream, Redactor: l.redactor, Observe: l.observe}); err != nil {
		l.faults = append(l.faults, err)
	}
}

// close ends the last step and returns what went wrong in the harness.
func (l *live) close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
	return errors.Join(l.faults...)
}

func (l *live) observe(in cassette.Interaction) { l.w.observe(in, false) }

// end has all told to the witness; mu is held.
func (l *live) end() {
	if l.recorder == nil {
		return
	}
	for _, lost := range l.recorder.Close().Lost {
		l.w.note(lost)
	}
	l.recorder = nil
}
