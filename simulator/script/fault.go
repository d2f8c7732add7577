package script

import (
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

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
