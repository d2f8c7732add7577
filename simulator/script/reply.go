package script

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/seal"
)

// Reply is one turn of a script, ready to be voiced. Everything in it that a
// real provider draws at random is a function of Seed and Ordinal.
type Reply struct {
	Request Request
	Turn    specs.Turn
	Ordinal int // of the turn in the script
	// Attempt counts the earlier ones with the same request, for a turn that
	// turns requests down.
	Attempt int
	Blocks  []Block
	Stop    specs.Stop
	Seed    string
	Key     seal.Key
	At      time.Time
}

// The alphabets of provider ids.
const (
	Alnum  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	Base36 = "0123456789abcdefghijklmnopqrstuvwxyz"
	Hex    = "0123456789abcdef"
)

// die is a source of chance that is used again and again.
type die struct {
	source *rand.ChaCha8
	*rand.Rand
}

var spare = sync.Pool{New: func() any {
	source := rand.NewChaCha8([32]byte{})
	return &die{source, rand.New(source)}
}}

// ID returns prefix and size characters of alphabet. Equal replies, prefixes
// and ordinals give equal ids.
func (r Reply) ID(prefix string, n int, alphabet string, size int) string {
	d := spare.Get().(*die)
	defer spare.Put(d)
	d.source.Seed(r.seedOf("id/"+prefix, n))
	id := make([]byte, len(prefix), len(prefix)+size)
	copy(id, prefix)
	for range size {
		id = append(id, alphabet[d.IntN(len(alphabet))])
	}
	return string(id)
}

// Roll is the first number below n that Dice draws for the use.
func (r Reply) Roll(use string, number, n int) int {
	d := spare.Get().(*die)
	defer spare.Put(d)
	d.source.Seed(r.seedOf(use, number))
	return d.IntN(n)
}

// Dice returns a source of chance of its own for use number n of use.
func (r Reply) Dice(use string, n int) *rand.Rand { return rand.New(rand.NewChaCha8(r.seedOf(use, n))) }

func (r Reply) seedOf(use string, n int) [sha256.Size]byte {
	var room [128]byte
	seed := append(append(append(room[:0], r.Seed...), 0), use...)
	seed = binary.BigEndian.AppendUint64(seed, uint64(r.Ordinal))
	return sha256.Sum256(binary.BigEndian.AppendUint64(seed, uint64(n)))
}

// Tokens estimates how many tokens text counts for.
func Tokens(text string) int { return (len(text) + 3) / 4 }

// InputTokens is the usage of the request.
func (r Reply) InputTokens() int { return Tokens(string(r.Request.Body)) }

// OutputTokens is the usage of the reply: all of it, and the part that is
// thought. Withheld thoughts count too.
func (r Reply) OutputTokens() (all, thought int) {
	for _, b := range r.Blocks {
		switch b.Kind {
		case specs.KindThinking, specs.KindRedacted:
			thought += 16 + Tokens(strings.Join(b.Parts, ""))
		default:
			all += 4 + Tokens(b.Text) + Tokens(b.Name) + Tokens(string(b.Args))
		}
	}
	return all + thought, thought
}

// Words cuts text into pieces of up to n words, each with the space before it,
// as models emit them.
func Words(text string, n int) []string {
	var pieces []string
	start, words := 0, 0
	for i := 1; i < len(text); i++ {
		if text[i] == ' ' && text[i-1] != ' ' {
			if words++; words == n {
				pieces, start, words = append(pieces, text[start:i]), i, 0
			}
		}
	}
	if start < len(text) {
		pieces = append(pieces, text[start:])
	}
	return pieces
}

// Slices cuts text into pieces of about n bytes that end between characters.
func Slices(text string, n int) []string {
	var pieces []string
	for len(text) > 0 {
		end := min(n, len(text))
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
		pieces, text = append(pieces, text[:end]), text[end:]
	}
	return pieces
}

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
	return len(p.Writes) == 1 && !p.Abort && !p.Stall &&
		!strings.HasPrefix(p.Header.Get("Content-Type"), "text/event-stream")
}

// Refused plans a refusal in the provider's words.
func (s *Simulation) Refused(r *Refusal) Plan {
	status, header, body := s.Reject(s.RefusalOf("script_"+r.Kind, "said", r.Message))
	return Plan{Status: status, Header: http.Header{"Content-Type": header["Content-Type"]},
		Writes: [][]byte{bytes.TrimSpace(body)}}
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
		frames = append(frames[:sent:sent], s.Failure(r, sent, s.RefusalOf("script_"+t.Fail.Kind))...)
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
