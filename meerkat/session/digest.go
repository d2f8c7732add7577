package session

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Digest hashes a rendered system prompt, tool definitions and messages, in
// the form "sha256:…". Two requests with the same Digest of their first n
// messages put the same conversation before the model; providers that bind
// their tokens to it demand no less (reference A-41).
func Digest(system string, tools []transcript.ToolDef, messages []transcript.Message) (string, error) {
	h := sha256.New()
	line := strconv.AppendInt(nil, int64(len(system)), 10)
	h.Write(append(append(line, '\n'), system...))
	var err error
	for i := range tools {
		if line, err = tools[i].AppendJSON(line[:0]); err != nil {
			return "", err
		}
		h.Write(append(line, '\n'))
	}
	h.Write([]byte("messages\n"))
	for i := range messages {
		if line, err = messages[i].AppendJSON(line[:0]); err != nil {
			return "", err
		}
		h.Write(append(line, '\n'))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
