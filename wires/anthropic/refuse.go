package anthropic

import (
	"crypto/sha256"
	"encoding/base32"

	"github.com/meerkat-go/conformance/simulator/script"
)

// refusalID is the id of a request that was refused for this: equal refusals
// have equal bytes.
func refusalID(kind, message string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + message))
	return "req_011C" + base32.StdEncoding.EncodeToString(sum[:])[:20]
}

type refusal struct {
	status int
	kind   string
}

// refusals are the statuses and types of reference §4.
var refusals = map[string]refusal{
	script.RefuseInvalid:    {400, "invalid_request_error"},
	script.RefuseAuth:       {401, "authentication_error"},
	script.RefuseModel:      {404, "not_found_error"},
	script.RefuseOverloaded: {529, "overloaded_error"},
	script.RefuseServer:     {500, "api_error"},
}

// words are the API's own messages where it always says the same.
var words = map[string]string{
	script.RefuseOverloaded: "Overloaded",
	script.RefuseServer:     "Internal server error",
}

// Refuse returns the error envelope.
func (Provider) Refuse(r *script.Refusal) (int, string, []byte) {
	to := refusals[r.Kind]
	return to.status, "application/json", script.JSON(errorDocument(to.kind, wordingOf(r), refusalID(to.kind, wordingOf(r))))
}

func wordingOf(r *script.Refusal) string {
	if r.Kind == script.RefuseModel {
		return "model: " + r.Message
	}
	if said, ok := words[r.Kind]; ok {
		return said
	}
	return r.Message
}

func errorDocument(kind, message, id string) script.Object {
	return script.Object{"type", "error", "error", script.Object{"type", kind, "message", message}, "request_id", id}
}

// Failure is the error event; the stream ends after it.
func (v Provider) Failure(r script.Reply, sent int, kind string) [][]byte {
	s := &stream{Reply: r, frames: make([][]byte, sent)}
	s.addEvent("error", errorDocument(refusals[kind].kind, words[kind], v.Header(r).Get("Request-Id")))
	return s.frames[sent:]
}
