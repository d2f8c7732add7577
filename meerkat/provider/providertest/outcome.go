package providertest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Outcome is all that a Parser said of a reply, as text that can be compared
// and read: what differs between two outcomes is a bug in one of them.
type Outcome string

// Parse feeds the pieces to p, wiping each afterwards, since a Parser keeps
// nothing, and returns what came of it.
func Parse(p stream.Parser, pieces ...[]byte) Outcome {
	for _, piece := range pieces {
		b := bytes.Clone(piece)
		_, err := p.Write(b)
		for i := range b {
			b[i] = 0xAA
		}
		if err != nil {
			break
		}
	}
	r, err := p.Close()
	return OutcomeOf(r, err)
}

// OutcomeOf describes a reply and its verdict.
func OutcomeOf(r stream.Reply, err error) Outcome {
	var s strings.Builder
	fmt.Fprintf(
		&s, "id %q, model %q, stop %q, usage %v %s\n", r.ResponseID, r.Model, r.Message.StopReason, r.UsageKnown,
		showUsage(r.Usage),
	)
	for i := range r.Message.Blocks {
		fmt.Fprintf(&s, "%s raw %q\n", showBlock(&r.Message.Blocks[i]), r.Message.Blocks[i].Raw)
	}
	for _, a := range r.Anomalies {
		fmt.Fprintf(&s, "anomaly %v at %d, %d, %v\n", a, a.Event, a.Offset, a.Harmless)
	}
	fmt.Fprintf(&s, "error %v\n", err)
	return Outcome(s.String())
}

// showBlock describes a block without its Raw, tokens included.
func showBlock(b *transcript.Block) string {
	s := fmt.Sprintf("%s text %q id %q name %q args %q kind %q", b.Type, b.Text, b.ID, b.Name, b.Args, b.Kind)
	if m := b.Meta; m != nil {
		s += fmt.Sprintf(
			" meta %s sig %q data %q thought %q id %q summary %q phase %q", m.Provider, m.Signature, m.Data,
			m.ThoughtSignature, m.ID, m.Summary, m.Phase,
		)
		if m.EncryptedContent != nil {
			s += fmt.Sprintf(" sealed %q", *m.EncryptedContent)
		}
	}
	if o := b.Origin; o != nil {
		s += fmt.Sprintf(" origin %+v", *o)
	}
	return s
}

func showUsage(u transcript.Usage) string {
	s := fmt.Sprintf("in %d out %d", u.InputTokens, u.OutputTokens)
	if u.CacheCreationTokens != nil {
		s += fmt.Sprintf(" write %d", *u.CacheCreationTokens)
	}
	if u.CacheReadTokens != nil {
		s += fmt.Sprintf(" read %d", *u.CacheReadTokens)
	}
	return s
}

// cutReply splits body into pieces of random sizes, small ones more often.
func cutReply(body []byte, rng *rand.Rand) [][]byte {
	var out [][]byte
	for len(body) > 0 {
		n := min(1+rng.IntN(1<<rng.IntN(12)), len(body))
		out = append(out, body[:n])
		body = body[n:]
	}
	return out
}

// Bytes splits body into single bytes.
func Bytes(body []byte) [][]byte {
	out := make([][]byte, len(body))
	for i := range body {
		out[i] = body[i : i+1]
	}
	return out
}

// Events frames payloads as Anthropic and OpenAI do: an event line with the
// payload's type, a data line, a blank line.
func Events(payloads ...string) []byte {
	w := &writer{}
	for _, p := range payloads {
		w.writeNamedEvent([]byte(p))
	}
	return w.Bytes()
}

// Chunks frames payloads as Gemini does: a data line, all ends CRLF.
func Chunks(payloads ...string) []byte {
	w := &writer{}
	for _, p := range payloads {
		w.writeBareEvent([]byte(p))
	}
	return w.Bytes()
}
