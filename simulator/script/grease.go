package script

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/meerkat-go/conformance/specs"
)

// futureField is an unknown member; clients pass over it (reference §1.4).
const futureField = `"x_future_field":{"nested":[1,null,"new"]}`

// The types of what stands for unknown blocks, items and parts.
// The simulator takes back what it issued.
const (
	FutureBlock = "future_block" // anthropic
	FutureItem  = "future_item"  // openai
	FuturePart  = "futurePart"   // gemini
)

// Greased reports whether the turn of a reply asks for g.
func Greased(r Reply, g specs.Grease) bool { return slices.Contains(r.Turn.Grease, g) }

// withGrease adds what the turn asks for to a reply's frames. What only one
// provider has is that Provider's business; a document takes a field and no event.
func (s *Simulation) withGrease(r Reply, frames [][]byte) [][]byte {
	has := func(g specs.Grease) bool { return Greased(r, g) }
	stream := r.Request.Form == FormSSE
	if has(specs.GreaseStart) && stream && len(frames) > 0 {
		frames = slices.Insert(slices.Clone(frames), 0, frames[0])
	}
	if has(specs.GreaseEvent) && stream && len(frames) > 0 {
		frames = slices.Insert(renumberEvents(frames), 1, []byte(s.UnknownEvent))
	}
	if has(specs.GreaseField) {
		frames = slices.Clone(frames)
		for i := range frames {
			frames[i] = withField(frames[i])
		}
	}
	return frames
}

var sequence = regexp.MustCompile(`"sequence_number":(\d+)`)

// renumberEvents makes room for one event after the first: OpenAI numbers them.
func renumberEvents(frames [][]byte) [][]byte {
	out := slices.Clone(frames)
	for i := 1; i < len(out); i++ {
		out[i] = sequence.ReplaceAllFunc(out[i], func(m []byte) []byte {
			n, _ := strconv.Atoi(string(m[bytes.IndexByte(m, ':')+1:]))
			return fmt.Appendf(nil, `"sequence_number":%d`, n+1)
		})
	}
	return out
}

// withField adds a member to the object that the frame ends with.
func withField(frame []byte) []byte {
	end := bytes.LastIndexByte(frame, '}')
	if end < 0 {
		return frame
	}
	comma := ","
	if before := bytes.TrimRight(frame[:end], " \r\n"); len(before) > 0 && before[len(before)-1] == '{' {
		comma = ""
	}
	return slices.Concat(frame[:end], []byte(comma+futureField), frame[end:])
}
