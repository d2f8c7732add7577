package vcr

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// seenList holds the redacted interactions of this run, for [Judge]. It is safe for concurrent
// use.
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

// observeReplay notes a request with its recorded answer. Its provenance is synthetic: the
// provider has not answered this request.
func (r *Recorder) observeReplay(in cassette.Interaction, _ bool) {
	in.Started = time.Now()
	if in.Provenance == "" {
		in.Provenance = cassette.ProvenanceSynthetic
	}
	r.seen.add(in)
}

// observeRecorded notes what was recorded. A reply that broke off is not kept, and fails the
// test. A request without any reply does not: the client got the error.
func (r *Recorder) observeRecorded(in cassette.Interaction) {
	r.seen.add(in)
	if r.wholeOnly && in.Incomplete != "" && in.Incomplete != cassette.IncompleteNoReply {
		r.cut.add(fmt.Sprintf("%s %s: not kept, because the reply is incomplete (%s)", in.Request.Method, in.Request.URL, in.Incomplete))
	}
}

// sentences collects lines for output. It is safe for concurrent use.
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
