// Package chat is the wire of Chat Completions, which OpenAI made and many providers, gateways and local
// engines speak in dialects of their own.
//
// [Wire] has its facts, dialects.yaml the dialects. The rules C-1 and following and the wire format are
// in specs/wire-rules.md, section 5.4.
package chat

import (
	"bytes"
	_ "embed" // for facts.yaml
	"iter"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

//go:embed facts.yaml
var factFile []byte

// Parts returns all parts of the wire.
func Parts() script.Parts {
	return script.Parts{Wire: Wire(), Decoder: decoder{}, Client: client{}, Book: Book(), Simulation: Simulation()}
}

// Wire returns the wire of Chat Completions.
func Wire() *wires.Wire {
	w := wires.Read("chat", factFile)
	w.MoreHosts, w.OwnHosts = publicHosts(), ownHosts()
	w.Errors.Body = errorBody
	w.Errors.Event = func(status int, message string) (string, []byte) { return "", errorBody(status, message) }
	w.Ending.IsLast, w.Ending.IsWhole = isDone, isWhole
	return w
}

func errorBody(status int, message string) []byte {
	kind := wires.NameOfStatus(map[int]string{429: "requests"}, status, "invalid_request_error", "server_error")
	return wires.JSON(map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil,
		"code": nil}})
}

func isDone(data []byte) bool { return string(bytes.TrimSpace(data)) == rule.Done }

// isWhole reports whether a stream has [DONE], or says why the model stopped or which error ended it.
func isWhole(_ []byte, events iter.Seq[[]byte]) (whole bool) {
	for data := range events {
		if isDone(data) {
			return true
		}
		if bytes.Contains(data, []byte("finish_reason")) || bytes.Contains(data, []byte(`"error"`)) {
			chunk, _ := tree.Parse(data) // what is not JSON ends nothing
			whole = whole || chunk.Has("error")
			for _, c := range chunk.List("choices") {
				whole = whole || c.Text("finish_reason") != ""
			}
		}
	}
	return whole
}
