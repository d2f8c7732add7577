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
// their tokens to it demand no less.
//
// It is a chain: the Digest of one message more is Extend of the Digest so far,
// so that a turn never hashes what was sent before.
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
	return Extend(formatDigest(h.Sum(nil)), messages...)
}

// Extend returns the Digest of the conversation that digest stands for with
// messages behind it.
func Extend(digest string, messages ...transcript.Message) (string, error) {
	var line []byte
	for i := range messages {
		var err error
		if line, err = messages[i].AppendJSON(append(append(line[:0], digest...), '\n')); err != nil {
			return "", err
		}
		sum := sha256.Sum256(line)
		digest = formatDigest(sum[:])
	}
	return digest, nil
}

func formatDigest(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }
