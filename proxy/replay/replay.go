// Package replay answers an agent's requests from a cassette: the recorded
// bytes in the recorded chunks, ended as they ended. It has no way to the
// outside; what it does not know it refuses, in the provider's own error shape,
// and says what the nearest recorded request was (DESIGN §4).
package replay

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
)

// Timing is how fast replies are played: None, Recorded, or how many times
// faster than recorded.
type Timing float64

// The timings that have a name.
const (
	None     Timing = 0 // without waiting
	Recorded Timing = 1 // as it was
)

// Config describes a Player. Cassette and Redactor are required.
type Config struct {
	Cassette *cassette.Cassette
	// Redactor does to requests what it did when they were recorded, so that
	// they can be compared.
	Redactor interface {
		Request(cassette.Request) cassette.Request
	}
	Timing Timing
	// Observe is told of each redacted request and its answer, one at a time;
	// missed says the answer is ours. nil is told nothing.
	Observe func(in cassette.Interaction, missed bool)
	// Log receives the explanation of each miss, line by line; nil discards it.
	Log func(line string)
	// Fallback answers, in place of a refusal, requests that the cassette has no
	// answer for: a recorder that adds them. They are not missed, but served by
	// somebody else. A damaged cassette is refused all the same. nil refuses.
	Fallback http.Handler
}

// Receipt is what a replay can prove of itself.
type Receipt struct {
	// Served requests were answered from the cassette, Missed ones were not.
	Served int `json:"served"`
	Missed int `json:"missed"`
	// Unused interactions of the cassette were never asked for.
	Unused int `json:"unused"`
	// Relaxed counts, by the name of a volatile-field rule, served requests
	// that differed from the recorded one in that field.
	Relaxed map[string]int `json:"relaxed"`
	// Egress counts connections made to answer: none, because there is no code
	// here to make one.
	Egress int `json:"egress"`
}

// Player is the handler of a replaying proxy. Each interaction is played once,
// equal requests in the order recorded. It is safe for concurrent use.
type Player struct {
	cfg   Config
	index *index

	mu       sync.Mutex // guards receipt
	receipt  Receipt
	watching sync.Mutex // one Observe at a time
}

// New returns a player at the beginning of its cassette.
func New(cfg Config) (*Player, error) {
	if cfg.Cassette == nil || cfg.Redactor == nil {
		return nil, errors.New("replay: a cassette and a redactor are required")
	}
	if cfg.Timing < 0 {
		return nil, errors.New("replay: speed below 0; use 1 for the recorded times, 0 for none")
	}
	if cfg.Log == nil {
		cfg.Log = func(string) {}
	}
	return &Player{cfg: cfg, index: newIndex(cfg.Cassette), receipt: Receipt{Relaxed: map[string]int{}}}, nil
}

// Receipt returns the account so far.
func (p *Player) Receipt() Receipt {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.receipt
	r.Relaxed = make(map[string]int, len(p.receipt.Relaxed))
	for rule, n := range p.receipt.Relaxed {
		r.Relaxed[rule] = n
	}
	r.Unused = p.cfg.Cassette.Len() - r.Served
	return r
}

// ServeHTTP answers one request.
func (p *Player) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	body.Grow(int(min(max(r.ContentLength, 0), 1<<20)) + bytes.MinRead)
	if _, err := body.ReadFrom(r.Body); err != nil {
		panic(http.ErrAbortHandler) // the client left before it had asked anything
	}
	asked := record.Incoming(r, body.Bytes())
	asked.Body = record.Readable(asked.Header, asked.Body)
	key, exact := p.identify(asked)
	found := p.index.take(key)
	switch {
	case found.reason != "" && found.reason != missDamaged && p.cfg.Fallback != nil:
		r.Body = io.NopCloser(&body)
		p.cfg.Fallback.ServeHTTP(w, r)
		return
	case found.reason != "":
		p.miss(w, asked, found)
		return
	}
	p.served(asked, found, exact)
	p.play(w, r, found.interaction)
}

// identify finds what a request is compared by. One that equals a recorded
// request byte for byte needs no redaction: the recorded one is redacted.
func (p *Player) identify(asked cassette.Request) (key, digest) {
	raw := rawDigest(asked)
	if k, ok := p.index.known(raw); ok {
		return k.key, k.exact
	}
	return fingerprint(p.cfg.Redactor.Request(asked))
}

func (p *Player) served(asked cassette.Request, found item, exact digest) {
	var rules []string
	if exact != found.exact {
		rules = relaxedBy(found.interaction.Request, p.cfg.Redactor.Request(asked))
	}
	p.mu.Lock()
	p.receipt.Served++
	for _, rule := range rules {
		p.receipt.Relaxed[rule]++
	}
	p.mu.Unlock()
	if p.cfg.Observe != nil {
		in := found.interaction
		in.Request = p.cfg.Redactor.Request(asked)
		p.observe(in, false)
	}
}

func (p *Player) observe(in cassette.Interaction, missed bool) {
	p.watching.Lock()
	defer p.watching.Unlock()
	p.cfg.Observe(in, missed)
}
