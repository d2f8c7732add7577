package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/fault"
)

// receiptSchema names the JSON form of a Receipt.
const receiptSchema = "recorder.receipt.v1"

// Receipt is the record of a replay. Its JSON is a public format,
// recorder.receipt.v1: fields are added, never changed.
type Receipt struct {
	// Schema is receiptSchema.
	Schema string `json:"schema"`
	// Tool is the program and its version, Libraries the versions of the
	// modules it is built from that matter to a replay. The caller fills them in.
	Tool      string            `json:"tool"`
	Libraries map[string]string `json:"libraries,omitempty"`
	// Started and Ended are when the replayer was made and when the receipt was, in
	// RFC 3339, UTC.
	Started string `json:"started"`
	Ended   string `json:"ended"`
	// Cassette is what was replayed.
	Cassette Played `json:"cassette"`
	// Match is the loosest level that was allowed.
	Match string `json:"match"`
	// Strict: something was served, nothing missed, and no answer needed a level
	// looser than exact or a volatility rule.
	Strict bool `json:"strict"`
	// Served requests were answered from the cassette, Missed ones were not.
	Served int `json:"served"`
	Missed int `json:"missed"`
	// Damaged are the missed ones whose answer may be in a damaged interaction, TooLong
	// those with a body longer than is read.
	Damaged int `json:"damaged,omitempty"`
	TooLong int `json:"too_long,omitempty"`
	// Levels counts the served requests by the level they needed; all levels are
	// named.
	Levels map[string]int `json:"levels"`
	// Relaxed counts, by the name of a volatility rule, served requests that
	// differed from the recorded one in what the rule allows.
	Relaxed map[string]int `json:"relaxed"`
	// RelaxedRequests are the served ones that needed a rule or a looser level.
	RelaxedRequests int `json:"relaxed_requests"`
	// RelaxedAnswers lists the first 100 of them.
	RelaxedAnswers []RelaxedAnswer `json:"relaxed_answers,omitempty"`
	// UnmatchedRules are the volatility rules that were given for this replay and
	// match nothing in the cassette: they may be misspelt. The caller fills them in.
	UnmatchedRules []string `json:"unmatched_rules,omitempty"`
	// Unused interactions were never asked for; UnusedInteractions lists the
	// first 100 of them.
	Unused             int      `json:"unused"`
	UnusedInteractions []Unused `json:"unused_interactions,omitempty"`
	// Egress counts connections of the recorder to the outside: none, because a replayer
	// has no code that could make one. Connections of the program are not counted.
	Egress int `json:"egress"`
	// Isolated says that the program could reach the recorder and nothing else, so
	// that nothing left the machine. Bypassed lists the programs that are known to have
	// gone past the recorder. Refused counts the requests that the proxy refused, such as
	// those to hosts that are not a provider's. The caller fills them in.
	Isolated bool     `json:"isolated"`
	Bypassed []Bypass `json:"bypassed,omitempty"`
	Refused  int      `json:"refused"`
	// Rechunk is how replies were cut again, Faults what was done to them, Seed
	// what decided both; all absent when nothing was. FaultsIdle names, one
	// sentence each, the planned faults that were never applied.
	Rechunk    fault.Mode    `json:"rechunk,omitempty"`
	Seed       *uint64       `json:"seed,omitempty"`
	Faults     []fault.Fired `json:"faults,omitempty"`
	FaultsIdle []string      `json:"faults_idle,omitempty"`
	// Struck counts the requests whose answer a fault kept from them. Their interactions
	// answer a retry; without one they are not Unused either.
	Struck int `json:"struck,omitempty"`
}

// Played identifies the cassette of a replay.
type Played struct {
	Path string `json:"path"`
	// Digest is cassette.Digest's: "sealed:" or "sha256:" and hexadecimal.
	Digest string `json:"digest"`
	// Interactions is how many it holds.
	Interactions int `json:"interactions"`
	// Provenance says who gave the answers: live, simulator, synthetic, import.
	Provenance string `json:"provenance"`
	// Recorded is when, as the cassette says; "" when it does not.
	Recorded string `json:"recorded,omitempty"`
	// Nominal says that the cassette's times are given and not measured.
	Nominal bool `json:"nominal_times,omitempty"`
	// Lost and Recovered are cassette.Loss's: what the recording lacked.
	Lost      int  `json:"lost,omitempty"`
	Recovered bool `json:"recovered,omitempty"`
}

// Unused is an interaction that answered no request. Its URL is without
// credentials.
type Unused struct {
	Interaction int    `json:"interaction"`
	Method      string `json:"method"`
	URL         string `json:"url"`
}

// Bypass is a program that ignored the recorder.
type Bypass struct {
	// Program is the name of the program, as the system knows it.
	Program string `json:"program"`
	// Address is what it was connected to, "" where it made no request at all.
	Address string `json:"address,omitempty"`
}

// RelaxedAnswer is an answer to a request that differed from the recorded one.
type RelaxedAnswer struct {
	Interaction int    `json:"interaction"`
	Method      string `json:"method"`
	URL         string `json:"url"` // without credentials
	// Level is the one that the answer needed, Rules are the volatility rules,
	// which are named for the levels exact and anchored.
	Level string   `json:"level"`
	Rules []string `json:"rules,omitempty"`
	// Differences names the first places where the requests differ, one sentence
	// each, with the beginning of both values.
	Differences []string `json:"differences"`
}

// maxListed bounds the lists of a Receipt.
const maxListed = 100

// tally is what a replayer counts.
type tally struct {
	started time.Time
	missed  map[string]int // by reason
	levels  [levels]int
	rules   map[string]int
	relaxed []RelaxedAnswer // the first maxListed
	loose   int             // how many relaxed answers there were
	faults  []fault.Fired
	faulted int
}

func (a *tally) countMissed() (n int) {
	for _, missed := range a.missed {
		n += missed
	}
	return n
}

func (a *tally) countRelaxed(l Level, relaxed RelaxedAnswer) {
	a.levels[l]++
	for _, rule := range relaxed.Rules {
		a.rules[rule]++
	}
	if l == Exact && len(relaxed.Rules) == 0 {
		return // only the order of members or the spelling of a credential differs
	}
	a.loose++
	if len(a.relaxed) < maxListed {
		a.relaxed = append(a.relaxed, relaxed)
	}
}

// Receipt returns what happened so far. It is safe for concurrent use.
func (p *Replayer) Receipt() Receipt {
	unused := p.index.unusedInteractions()
	p.mu.Lock()
	defer p.mu.Unlock()
	recording, a := p.cfg.Cassette, &p.tally
	meta := recording.Meta()
	r := Receipt{
		Schema:  receiptSchema,
		Started: a.started.UTC().Format(time.RFC3339Nano),
		Ended:   p.cfg.Clock().UTC().Format(time.RFC3339Nano),
		Cassette: Played{recording.Name(), recording.Digest(), recording.Len(), meta.Provenance, meta.Created,
			meta.Nominal(), recording.Loss().Lost, recording.Loss().Recovered},
		Match:  p.cfg.Match.String(),
		Missed: a.countMissed(), Damaged: a.missed[missDamaged], TooLong: a.missed[missTooLong],
		Levels: map[string]int{}, Relaxed: maps.Clone(a.rules), RelaxedRequests: a.loose,
		RelaxedAnswers: slices.Clone(a.relaxed),
		Unused:         len(unused),
	}
	for l, n := range a.levels {
		r.Levels[Level(l).String()] = n
		r.Served += n
	}
	p.addFaults(&r)
	r.Strict = r.Served > 0 && r.Missed == 0 && r.RelaxedRequests == 0
	for _, at := range unused[:min(len(unused), maxListed)] {
		r.UnusedInteractions = append(r.UnusedInteractions, unusedAt(recording, at))
	}
	return r
}

// addFaults adds what was done to the replies; mu is held.
func (p *Replayer) addFaults(r *Receipt) {
	r.Rechunk, r.Faults, r.Struck = p.cfg.Rechunk, slices.Clone(p.tally.faults), p.tally.faulted
	if p.faults != nil {
		r.FaultsIdle = p.faults.Idle()
	}
	if p.faults != nil || r.Rechunk != "" {
		seed := p.cfg.Seed
		r.Seed = &seed
	}
}

func unusedAt(recording *cassette.Cassette, at int) Unused {
	r, err := recording.Request(at)
	if err != nil {
		return Unused{Interaction: at}
	}
	f := formOf(cassette.Request{Method: r.Method, URL: r.URL})
	return Unused{at, f.method, f.url}
}

// Summary returns the receipt as one line for people. It says when a run was not
// strict, and why.
func (r Receipt) Summary() string {
	s := fmt.Sprintf("served %d, missed %d, unused %d, relaxed %d, egress %d",
		r.Served, r.Missed, r.Unused, r.RelaxedRequests, r.Egress)
	if r.Struck > 0 {
		s += fmt.Sprintf(", struck %d", r.Struck)
	}
	if r.RelaxedRequests == 0 {
		return s
	}
	var by []string
	for l := Anchored; l < levels; l++ {
		if n := r.Levels[l.String()]; n > 0 {
			by = append(by, fmt.Sprintf("%s %d", l, n))
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(r.Relaxed)) {
		by = append(by, fmt.Sprintf("%s %d", rule, r.Relaxed[rule]))
	}
	return s + " (not strict: " + strings.Join(by, ", ") + ")"
}
