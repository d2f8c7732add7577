package script

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Attempts counts how often the same request came for a turn that turns it down
// at first. The zero value has seen nothing; it is safe for concurrent use.
type Attempts struct {
	mu   sync.Mutex
	seen map[[sha256.Size]byte]int
}

// countAttempt returns how often req was asked for before. Nil has no memory: every
// request is the first.
func (a *Attempts) countAttempt(req Request, ordinal int) int {
	if a == nil {
		return 0
	}
	of := binary.BigEndian.AppendUint64([]byte(req.Provider), uint64(ordinal))
	key := sha256.Sum256(append(of, req.Body...))
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen == nil {
		a.seen = map[[sha256.Size]byte]int{}
	}
	a.seen[key]++
	return a.seen[key] - 1
}

// retryAfter is how long a client that is turned down is to wait.
const retryAfter = time.Second

// rejectionPlan plans the status that a turn turns its request down with; false when
// the request came often enough.
func (s *Simulation) rejectionPlan(r Reply) (Plan, bool) {
	to := r.Turn.Refuse
	if to == nil {
		return Plan{}, false
	}
	about, refuses := []string(nil), r.Attempt < to.Times || to.Holds != ""
	if to.IsAboutContent() && to.Holds == "" {
		about, refuses = s.findContent(r.Request, to.Kind)
	}
	if !refuses {
		return Plan{}, false
	}
	refusal := s.RefusalOf(to.Kind, about...)
	refusal.Listed = r.Request.Form == FormArray
	if s.Retry != nil {
		s.Retry(refusal, to.Retry, retryAfter)
	}
	status, header, body := s.Reject(refusal)
	if s.Retry == nil {
		switch to.Retry {
		case "seconds":
			header.Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
		case "date":
			header.Set("Retry-After", r.At.Add(retryAfter).UTC().Format(http.TimeFormat))
		case "milliseconds":
			header.Set("Retry-After-Ms", strconv.Itoa(int(retryAfter.Milliseconds())))
		}
	}
	return Plan{Status: status, Header: header, Writes: [][]byte{body}, Injected: true}, true
}

// refusedTool is the end of the name of the tool whose schema the kind "tool" refuses.
const refusedTool = "conform_noargs"

// findContent reports whether a request holds what a kind of refusals is about, and returns what the
// refusal may name.
func (s *Simulation) findContent(req Request, kind string) (about []string, holds bool) {
	if kind != "tool" {
		return nil, anyNode(documentOf(req), func(n *tree.Node) bool { return n.Is(tree.Object) && s.Holds(kind, n) })
	}
	i := slices.IndexFunc(req.Tools, func(name string) bool { return strings.HasSuffix(name, refusedTool) })
	if i < 0 {
		return nil, false
	}
	return []string{"tool", req.Tools[i], "index", strconv.Itoa(i)}, true
}

// holdsText reports whether a text of the request holds words; "" is in every request.
func holdsText(req Request, words string) bool {
	return words == "" || anyNode(documentOf(req), func(n *tree.Node) bool { return strings.Contains(n.Text(), words) })
}

func documentOf(req Request) *tree.Node {
	if req.Document != nil {
		return req.Document
	}
	doc, _ := tree.ParseLenient(req.Body, maxRequestDepth)
	return doc
}

// maxRequestDepth bounds the nesting of a request that is read here.
const maxRequestDepth = 200

// anyNode reports whether a node of the document matches.
func anyNode(n *tree.Node, matches func(*tree.Node) bool) bool {
	return matches(n) || slices.ContainsFunc(n.Items(), func(item *tree.Node) bool { return anyNode(item, matches) })
}

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
		// Make room for one event after the first: OpenAI numbers them.
		out := slices.Clone(frames)
		for i := 1; i < len(out); i++ {
			out[i] = sequence.ReplaceAllFunc(out[i], func(m []byte) []byte {
				n, _ := strconv.Atoi(string(m[bytes.IndexByte(m, ':')+1:]))
				return fmt.Appendf(nil, `"sequence_number":%d`, n+1)
			})
		}
		frames = slices.Insert(out, 1, []byte(s.UnknownEvent))
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
