package replay

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/route"
)

// missStatus is the status of a miss: one that no client repeats.
const missStatus = http.StatusBadRequest

// miss refuses a request in the shape of its provider's errors and explains.
func (p *Player) miss(w http.ResponseWriter, asked cassette.Request, found item) {
	asked = p.cfg.Redactor.Request(asked)
	sentence, details := p.explain(asked, found)
	contentType, body := route.ErrorBody(provider(asked), missStatus, sentence)
	in := cassette.Interaction{Request: asked, End: cassette.EndEOF, Response: cassette.Response{
		Status: missStatus, Proto: asked.Proto, Body: body,
		Header: http.Header{"Content-Type": {contentType}, "X-Cassette-Miss": {found.reason}, "X-Should-Retry": {"false"}},
	}}
	p.mu.Lock()
	p.receipt.Missed++
	p.mu.Unlock()
	p.cfg.Log(sentence)
	for _, line := range details {
		p.cfg.Log(line)
	}
	if p.cfg.Observe != nil {
		p.observe(in, true)
	}
	for name, values := range in.Response.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(missStatus)
	_, _ = w.Write(body)
}

// explain says why a request has no answer: a sentence, and the differences
// from the nearest recorded request.
func (p *Player) explain(asked cassette.Request, found item) (sentence string, details []string) {
	tape := p.cfg.Cassette.Name()
	where := asked.Method + " " + canonicalURL(asked.URL)
	switch found.reason {
	case missDamaged:
		return fmt.Sprintf("%s: no answer to %s that can be read: %v", tape, where, found.err), nil
	case missExhausted:
		return fmt.Sprintf("%s: %s was recorded and every answer to it is played; the agent asks once more than it did", tape, where), nil
	}
	near := p.nearest(asked)
	if near.at < 0 {
		return fmt.Sprintf("%s: no request %s was recorded", tape, where), nil
	}
	for _, c := range near.changes {
		details = append(details, "  "+c.String())
	}
	return fmt.Sprintf("%s: no answer to %s; interaction %d is nearest, it differs in %s",
		tape, where, near.at, paths(near.changes)), details
}

// candidate is a recorded request and how it differs from the one asked.
type candidate struct {
	at      int
	changes []Change
}

// maxCandidates bounds the search for the nearest request.
const maxCandidates = 64

// nearest finds the recorded request to the same method and URL with the
// fewest differences, unplayed ones first.
func (p *Player) nearest(asked cassette.Request) candidate {
	best := candidate{at: -1}
	wanted, looked := canonicalURL(asked.URL), 0
	for _, at := range p.index.waiting() {
		recorded, err := p.cfg.Cassette.Request(at)
		if err != nil || recorded.Method != asked.Method || canonicalURL(recorded.URL) != wanted {
			continue
		}
		changes := Diff(recorded.Body, asked.Body)
		if best.at < 0 || len(changes) < len(best.changes) {
			best = candidate{at, changes}
		}
		if looked++; looked == maxCandidates {
			break
		}
	}
	return best
}

// String is the change on one line, its values cut short.
func (c Change) String() string {
	where := c.Path
	if where == "" {
		where = "body"
	}
	switch {
	case c.Old == "":
		return where + ": now " + short(c.New) + ", not recorded"
	case c.New == "":
		return where + ": recorded " + short(c.Old) + ", now absent"
	}
	return where + ": recorded " + short(c.Old) + ", now " + short(c.New)
}

func short(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// paths names the first few changed places.
func paths(changes []Change) string {
	const most = 4
	var names []string
	for _, c := range changes[:min(most, len(changes))] {
		if c.Path == "" {
			c.Path = "its body"
		}
		names = append(names, c.Path)
	}
	if more := len(changes) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

func sorted(ints []int) []int {
	slices.Sort(ints)
	return ints
}
