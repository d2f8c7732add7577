package script

import (
	"bytes"
	"net/http"

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
}

// Answer plans the response to a model call: the turn the request asks for, or
// the refusal in the provider's own words.
func (s *Script) Answer(v Voice, r *http.Request, body []byte) Plan {
	req, refusal := v.Read(r, body)
	if refusal != nil {
		return refused(v, refusal)
	}
	reply, refusal := s.Reply(req)
	if refusal != nil {
		return refused(v, refusal)
	}
	return perform(v, reply)
}

// Refused plans a refusal in the words of v.
func Refused(v Voice, kind, message string) Plan {
	return refused(v, &Refusal{Kind: kind, Message: message})
}

func refused(v Voice, r *Refusal) Plan {
	status, contentType, body := v.Refuse(r)
	return Plan{Status: status, Header: http.Header{"Content-Type": {contentType}}, Writes: [][]byte{body}}
}

// perform plans a reply. Cut and error count wire events; a reply that is one
// document is cut in its middle and fails with a status instead.
func perform(v Voice, r Reply) Plan {
	frames := v.Frames(r)
	plan := Plan{Status: http.StatusOK, Header: v.Header(r)}
	plan.Header.Set("Date", r.At.UTC().Format(http.TimeFormat))
	t, unary := r.Turn, r.Request.Form == FormUnary
	switch {
	case t.Fail != nil && unary:
		return refused(v, &Refusal{Kind: t.Fail.Kind, Message: "the script fails this turn"})
	case t.Fail != nil:
		sent := min(t.Fail.After[r.Request.Provider], len(frames))
		frames = append(frames[:sent:sent], v.Failure(r, sent, t.Fail.Kind)...)
	case t.Cut != nil && unary:
		frames, plan.Abort = [][]byte{frames[0][:len(frames[0])/2]}, true
	case t.Cut != nil:
		frames, plan.Abort = frames[:min((*t.Cut)[r.Request.Provider], len(frames)-1)], true
	}
	plan.Writes = Cut(frames, t.Chunks)
	return plan
}

// Cut arranges frames into writes as a scenario asks. Nothing is lost or
// added.
func Cut(frames [][]byte, c specs.Chunks) [][]byte {
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
