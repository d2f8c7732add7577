package vcr

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// seenList is what passed, as redaction leaves it, for the referee. It is safe for
// concurrent use.
type seenList struct {
	mu  sync.Mutex
	all []cassette.Interaction
}

func (s *seenList) add(in cassette.Interaction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, in)
}

// inOrder returns the interactions in the order of their requests.
func (s *seenList) inOrder() []cassette.Interaction {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.all)
	slices.SortStableFunc(all, func(a, b cassette.Interaction) int { return a.Started.Compare(b.Started) })
	return all
}

// observeReplay notes a request with its answer. Who answered another request says
// nothing about this one, so the answer is not the provider's.
func (r *Recorder) observeReplay(in cassette.Interaction, _ bool) {
	in.Started = time.Now()
	if in.Provenance == "" {
		in.Provenance = cassette.ProvenanceSynthetic
	}
	r.seen.add(in)
}

// observeRecorded notes what was recorded. A request without any reply was the
// caller's to handle; a reply that broke off leaves a gap.
func (r *Recorder) observeRecorded(in cassette.Interaction) {
	r.seen.add(in)
	if r.wholeOnly && in.Incomplete != "" && in.Incomplete != cassette.IncompleteNoReply {
		r.cut.add(fmt.Sprintf("%s %s: not kept, because the reply is incomplete (%s)", in.Request.Method, in.Request.URL, in.Incomplete))
	}
}

// sentences are lines for people. They are safe for concurrent use.
type sentences struct {
	mu  sync.Mutex
	all []string
}

func (s *sentences) add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, line)
}

func (s *sentences) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}
