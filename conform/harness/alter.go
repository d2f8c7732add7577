package harness

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/internal/websocket"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
)

// Alteration changes evidence the way a defective agent would. It returns false where it
// has nothing to change, and leaves what it is given as it is.
type Alteration func(evidence.Evidence) (evidence.Evidence, bool)

// alterer changes one request of a case on its way from the agent: recorder, simulator
// and referee see only what it passes on.
type alterer struct {
	alter   Alteration
	capture *capture
	next    http.Handler

	mu     sync.Mutex
	done   bool
	passed []cassette.Interaction
	stepOf []int
}

// alterRequests returns next behind an alterer, and next itself without an alteration.
func alterRequests(alter Alteration, kept *capture, next http.Handler) http.Handler {
	if alter == nil {
		return next
	}
	return &alterer{alter: alter, capture: kept, next: next}
}

// ServeHTTP passes a request on, with a change if it is the first that can be changed.
func (a *alterer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if websocket.IsUpgrade(r) {
		a.next.ServeHTTP(w, r) // its messages come here one by one
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	body = record.DecompressRequest(r.Header, body)
	asked := cassette.Interaction{WebSocket: a.capture.sockets.Of(r.Context()),
		Request: cassette.Request{Method: r.Method, URL: r.URL.String(), Proto: r.Proto, Header: r.Header.Clone(),
			Body: body}}
	if changed, ok := a.changeRequest(asked); ok {
		asked.Request = changed
	}
	body = asked.Request.Body
	r.Header, r.ContentLength = asked.Request.Header, int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	r.Body = io.NopCloser(bytes.NewReader(body))
	reply := &replyCopy{ResponseWriter: w, status: http.StatusOK}
	defer func() {
		// What is decided about the next exchange needs this one.
		a.mu.Lock()
		defer a.mu.Unlock()
		asked.End = cassette.EndEOF
		asked.Response = cassette.Response{Status: reply.status, Header: reply.Header(), Body: reply.body.Bytes()}
		a.passed = append(a.passed, asked)
		a.stepOf = append(a.stepOf, a.capture.runningStep())
	}()
	a.next.ServeHTTP(reply, r)
}

// changeRequest returns what is sent in the place of a request; false for the request as
// it is.
func (a *alterer) changeRequest(next cassette.Interaction) (asked cassette.Request, changed bool) {
	asked = next.Request
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return asked, false
	}
	list := append(slices.Clone(a.passed), next)
	ev, _ := evidence.FromInteractions(a.capture.Name(), a.capture.Source, list)
	if n := len(ev.Exchanges); n == 0 || ev.Exchanges[n-1].Index != len(list)-1 {
		return asked, false // no model is asked
	}
	steps := append(slices.Clone(a.stepOf), a.capture.runningStep())
	var processOf []int
	ev.Process, processOf = joinSteps(a.capture.Case.Scenario.Steps, make([]evidence.Process, steps[len(steps)-1]+1))
	for i := range ev.Exchanges {
		ev.Exchanges[i].Process = processOf[steps[ev.Exchanges[i].Index]]
	}
	for i, step := range a.capture.Case.Scenario.Steps[:steps[len(steps)-1]+1] {
		ev.Process[processOf[i]].Resumed = ev.Process[processOf[i]].Resumed || step.Resume
	}
	bad, ok := a.alter(ev)
	if !ok || len(bad.Exchanges) != len(ev.Exchanges) {
		return asked, false
	}
	was, is := ev.Exchanges[len(ev.Exchanges)-1].Request, bad.Exchanges[len(bad.Exchanges)-1].Request
	if was.SaysTheSame(is) {
		return asked, false
	}
	a.done = true
	asked.Body, asked.Header = is.Body, is.Header
	return asked, true
}

// replyCopy keeps what is written through it.
type replyCopy struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader keeps the status.
func (c *replyCopy) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

// Write keeps a part of the body.
func (c *replyCopy) Write(p []byte) (int, error) {
	c.body.Write(p)
	return c.ResponseWriter.Write(p)
}

// Unwrap lets a [http.ResponseController] reach the connection.
func (c *replyCopy) Unwrap() http.ResponseWriter { return c.ResponseWriter }
