package script

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/specs"
)

// Plan is a response, write by write. It holds all that a server must do.
type Plan struct {
	Status int
	Header http.Header
	Writes [][]byte
	// Abort says that the connection breaks after the last write, before the
	// body is complete.
	Abort bool
	// Stall says that the connection stays open after the last write and nothing
	// more comes.
	Stall bool
	// Injected says that the scenario asked for the refusal: the request is not at
	// fault.
	Injected bool
	// Turn is the turn of the scenario that the response is; nil for every other one.
	Turn *specs.Turn
}

// Document reports whether the response is one whole document, no stream.
func (p Plan) Document() bool {
	return len(p.Writes) == 1 && !p.Abort && !p.Stall && !strings.HasPrefix(p.Header.Get("Content-Type"), "text/event-stream")
}

// Refused plans a refusal in the provider's words.
func (s *Simulation) Refused(r *Refusal) Plan {
	status, contentType, body := s.Refuse(r)
	return Plan{Status: status, Header: http.Header{"Content-Type": {contentType}}, Writes: [][]byte{body}}
}

// PlanReply plans a reply. Cut and error count wire events; a reply that is one
// document is cut in its middle and fails with a status instead.
func (s *Simulation) PlanReply(r Reply) Plan {
	if plan, ok := s.rejectionPlan(r); ok {
		return plan
	}
	frames := s.withGrease(r, s.Frames(r))
	plan := Plan{Status: http.StatusOK, Header: s.Header(r), Turn: scriptedTurn(r)}
	plan.Header.Set("Date", r.At.UTC().Format(http.TimeFormat))
	t, unary := r.Turn, r.Request.Form == FormUnary
	switch {
	case t.Fail != nil && unary:
		return s.Refused(&Refusal{Kind: t.Fail.Kind, Message: "the script fails this turn"})
	case t.Fail != nil:
		sent := min(t.Fail.After[r.Request.Provider], len(frames))
		frames = append(frames[:sent:sent], s.Failure(r, sent, t.Fail.Kind)...)
	case t.Cut != nil && unary:
		frames, plan.Abort = [][]byte{frames[0][:len(frames[0])/2]}, true
	case t.Cut != nil:
		frames, plan.Abort = frames[:min((*t.Cut)[r.Request.Provider], len(frames)-1)], true
	}
	if t.Stall != nil {
		sent := min((*t.Stall)[r.Request.Provider], len(frames)-1) // a document: nothing
		frames, plan.Stall = frames[:sent], true
	}
	plan.Writes = cutReply(frames, t.Chunks)
	return plan
}

// scriptedTurn is the turn of a reply, nil when the reply was not written in a scenario.
func scriptedTurn(r Reply) *specs.Turn {
	if r.Turn.Line == 0 {
		return nil
	}
	return &r.Turn
}

// cutReply arranges frames into writes as a scenario asks. Nothing is lost or
// added.
func cutReply(frames [][]byte, c specs.Chunks) [][]byte {
	switch {
	case c.Whole:
		return [][]byte{bytes.Join(frames, nil)}
	case len(c.Sizes) == 0:
		return frames
	}
	var writes [][]byte
	rest := bytes.Join(frames, nil)
	for i := 0; len(rest) > 0; i++ {
		size := min(c.Sizes[i%len(c.Sizes)], len(rest))
		writes, rest = append(writes, rest[:size]), rest[size:]
	}
	return writes
}
