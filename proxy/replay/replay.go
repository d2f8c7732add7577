// Package replay answers an agent's requests from a cassette: the recorded bytes
// in the recorded chunks, ended as they ended.
//
// Start with [Config] and [New]. A [Replayer] is an http.Handler for a proxy;
// [Replayer.Receipt] reports what was served:
//
//	c, err := cassette.Open("session.yaml")
//	r, err := replay.New(replay.Config{Cassette: c, Redactor: redactor})
//	// serve requests with r
//	receipt := r.Receipt()
//
// Each recorded interaction answers one request. Requests are compared by method,
// URL and body after redaction; [Level] says how strictly. A request without an
// answer gets status 400 in the shape of its provider's errors, and the log line
// describes the nearest recorded request. The package opens no connection.
package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/internal/websocket"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/fault"
	"github.com/meerkat-go/conformance/proxy/record"
)

// Timing is how fast replies are sent: None, Recorded, or a multiple of the
// recorded speed.
type Timing float64

// The timings that have a name.
const (
	None     Timing = 0 // without waiting
	Recorded Timing = 1 // as it was
)

// slowest keeps a recorded time within what a Duration can hold.
const slowest = 0.001

// Valid reports whether t is None or at least a thousandth of the recorded
// speed.
func (t Timing) Valid() bool { return t == None || t >= slowest }

// Config describes a Replayer. Cassette and Redactor are required.
type Config struct {
	Cassette *cassette.Cassette
	// Redactor treats requests as it did when they were recorded, so that they
	// can be compared.
	Redactor interface {
		Request(cassette.Request) cassette.Request
	}
	// Mask takes what looks like a key out of a redacted request before it is shown to people;
	// nil takes nothing.
	Mask func(cassette.Request) cassette.Request
	// Timing is how fast replies are sent; the zero value is None.
	Timing Timing
	// MaxBody is the length of the longest request body that is read, in bytes; 0 means
	// record.DefaultMaxBody. A request with a longer one is missed, with status 413.
	MaxBody int64
	// Match is the loosest level at which a recorded request may answer. Stricter
	// levels are tried first.
	Match Level
	// Scrubs are rules in addition to those of the cassette. Here is where the program runs
	// that sends the requests, for the rules about a place.
	Scrubs Scrubs
	Here   Place
	// Rechunk cuts the replies into other chunks; "" keeps the recorded ones.
	Rechunk fault.Mode
	// Faults is applied to the replies; nil leaves them alone. Applied faults are
	// in the receipt and, one line each, in Log.
	Faults *fault.Plan
	// Seed decides everything that Rechunk and Faults leave to chance.
	Seed uint64
	// Observe receives each redacted request with its answer, one at a time;
	// missed says that the answer is a refusal of this package. nil observes
	// nothing.
	Observe func(in cassette.Interaction, missed bool)
	// Log receives the explanation of each miss, line by line, and warnings about the
	// cassette; nil discards them.
	Log func(line string)
	// Fallback answers requests that the cassette has no answer for, instead of a
	// refusal: for example a recorder that adds them. Such requests do not count
	// as missed. A damaged cassette is refused all the same. nil refuses.
	Fallback http.Handler
	// Repeat lets each interaction answer any number of requests. Of equal ones the
	// first answers.
	Repeat bool
	// Record is the command that records what is missing; each miss mentions it.
	// "" mentions none.
	Record string
	// Clock dates the receipt; nil means time.Now.
	Clock func() time.Time
}

// Replayer is the handler of a replaying proxy. Each interaction answers one request; equal
// requests are answered in the order in which they were recorded. It is safe for concurrent
// use.
type Replayer struct {
	cfg        Config
	rules      ruleSet
	index      *index
	webSockets func() socketFacts // reads the cassette, once
	faults     *fault.Injector    // nil without a plan

	mu        sync.Mutex // guards tally
	tally     tally
	observeMu sync.Mutex // one Observe at a time
	logMu     sync.Mutex // one explanation at a time
}

// New returns a replayer at the beginning of its cassette. It refuses a cassette with matching
// rules that are unknown. Rules of the cassette that are too wide for [ParseScrub] apply, and
// are logged.
func New(cfg Config) (*Replayer, error) {
	if cfg.Cassette == nil || cfg.Redactor == nil {
		return nil, errors.New("replay: a cassette and a redactor are required")
	}
	if !cfg.Timing.Valid() {
		return nil, errors.New("replay: no such speed; use 1 for the recorded times, 0 for none")
	}
	if cfg.Match < Exact || cfg.Match >= levels {
		return nil, errors.New("replay: no such level of matching")
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = record.DefaultMaxBody
	}
	if cfg.Log == nil {
		cfg.Log = func(string) {}
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	rules, err := newRuleSet(cfg.Cassette, cfg.Scrubs, cfg.Here)
	if err != nil {
		return nil, err
	}
	for _, r := range rules.scrubs {
		if why := r.TooWide(); why != nil {
			cfg.Log(fmt.Sprintf("%s: its scrub rule %s %v; it was recorded with that rule, which still applies",
				cfg.Cassette.Name(), r, why))
		}
	}
	p := &Replayer{cfg: cfg, rules: rules, index: newIndex(cfg.Cassette, rules, cfg.Repeat),
		tally: tally{started: cfg.Clock(), rules: map[string]int{}, missed: map[string]int{}}}
	p.webSockets = sync.OnceValue(p.readSockets)
	if cfg.Faults != nil {
		p.faults = cfg.Faults.Injector(cfg.Seed)
	}
	return p, nil
}

// ServeHTTP answers one request. A WebSocket is accepted, unless the cassette has a
// refusal of one left; its messages are requests like any other.
func (p *Replayer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if websocket.IsUpgrade(r) {
		p.answerHandshake(w, r)
		return
	}
	var body bytes.Buffer
	body.Grow(int(min(max(r.ContentLength, 0), 1<<20)) + bytes.MinRead)
	if _, err := body.ReadFrom(io.LimitReader(r.Body, p.cfg.MaxBody+1)); err != nil {
		panic(http.ErrAbortHandler) // the client left before its request was complete
	}
	q, found := p.findRequest(r, body.Bytes())
	if found.reason != "" && found.reason != missDamaged && p.cfg.Fallback != nil {
		r.Body = io.NopCloser(io.MultiReader(&body, r.Body))
		p.cfg.Fallback.ServeHTTP(w, r)
		return
	}
	p.sendAnswer(w, r, q, found)
}

// findRequest looks for a request's answer. A body that is longer than is read is compared with
// nothing.
func (p *Replayer) findRequest(r *http.Request, body []byte) (*lookup, match) {
	if int64(len(body)) > p.cfg.MaxBody {
		return p.newLookup(r, nil), match{reason: missTooLong}
	}
	q := p.newLookup(r, body)
	return q, p.findAnswer(q)
}

// sendAnswer sends what was found for a request, or says why nothing was.
func (p *Replayer) sendAnswer(w http.ResponseWriter, r *http.Request, q *lookup, found match) {
	if found.reason != "" {
		p.answerMiss(w, p.shownRequest(q.redactedRequest()), found)
		return
	}
	in := found.interaction
	script, consumed := scriptOf(in), true
	if p.faults != nil || p.cfg.Rechunk != "" {
		script, consumed = p.applyFaults(script, q, found.at)
		in = sentInteraction(in, script)
	}
	if consumed {
		p.recordServed(q, found)
	} else {
		p.releaseFaulted(found.at)
	}
	if p.cfg.Observe != nil {
		in.Request = p.shownRequest(q.redactedRequest())
		p.notifyObserver(in, false)
	}
	sendScript(w, r, script, p.cfg.Timing)
}

// findAnswer looks for a request's answer, level by level. A damaged cassette
// ends the search before secrets are left out or a looser level is tried: the strictest
// answer may be in the damaged part.
func (p *Replayer) findAnswer(q *lookup) (found match) {
	if at, ok := p.index.acquireNext(q.r.Method, q.url, q.body); ok {
		return p.index.fetchInteraction(match{at: at, level: identical})
	}
	for l := identical; l <= p.cfg.Match; l++ {
		next := p.index.acquire(l, q.levelKey(l))
		if next.reason != "" && l >= Exact {
			if err := p.index.damage(); err != nil {
				return match{reason: missDamaged, err: err}
			}
			next = p.acquireBesideSecrets(q, l, next)
		}
		if next.reason == "" {
			return p.index.fetchInteraction(next)
		}
		if found.reason != missExhausted {
			found = next
		}
	}
	return found
}

// recordServed counts an answer by what it took to find it.
func (p *Replayer) recordServed(q *lookup, found match) {
	if found.level == identical || found.level == Exact && q.requestForm().computeDigest() == found.form {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.tally.levels[Exact]++
		return
	}
	recorded, asked := formOf(found.interaction.Request), q.requestForm()
	relaxed := RelaxedAnswer{Interaction: found.at, Method: asked.method, URL: asked.url, Level: found.level.String()}
	if found.level <= Anchored {
		relaxed.Rules = p.rules.rulesUsed(recorded, asked)
	}
	p.mu.Lock()
	describe := len(p.tally.relaxed) < maxListed
	p.mu.Unlock()
	if describe {
		shownRecorded, shownAsked := formOf(p.shownRequest(found.interaction.Request)),
			formOf(p.shownRequest(q.redactedRequest()))
		relaxed.URL = shownAsked.url
		relaxed.Differences = changeLines(diffForPeople(shownRecorded.body, shownAsked.body))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tally.countRelaxed(found.level, relaxed)
}

func (p *Replayer) notifyObserver(in cassette.Interaction, missed bool) {
	p.observeMu.Lock()
	defer p.observeMu.Unlock()
	p.cfg.Observe(in, missed)
}
