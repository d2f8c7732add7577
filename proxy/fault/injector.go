package fault

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/meerkat-go/conformance/proxy/llm"
)

// Reply says what a script answers.
type Reply struct {
	Interaction int // its index in the cassette
	Provider    string
	Operation   llm.Operation
}

// Fired is a fault that was applied, as receipts list it.
type Fired struct {
	Interaction int    `json:"interaction"`
	Fault       string `json:"fault"`
	At          string `json:"at,omitempty"` // as the plan's file says it
	Byte        int    `json:"byte"`         // of the recorded body
	Line        int    `json:"line"`         // of the plan's file
}

// String returns the fault on one line.
func (f Fired) String() string {
	text := f.Fault
	if f.At != "" {
		text = fmt.Sprintf("%s %s (byte %d)", f.Fault, f.At, f.Byte)
	}
	return fmt.Sprintf("interaction %d: %s, line %d of the plan", f.Interaction, text, f.Line)
}

// Outcome is what became of a reply.
type Outcome struct {
	// Fired lists the faults that were applied, in the order of their places.
	Fired []Fired
	// Consumed is false when the interaction has to answer the next equal request, which
	// is a retry.
	Consumed bool
}

// Injector applies a plan. It is safe for concurrent use. Which replies it
// changes depends on the seed and the interactions; only Nth depends on the
// order of the requests.
type Injector struct {
	plan Plan
	seed uint64

	mu    sync.Mutex
	state []faultState // one a fault
}

// faultState is what a fault did so far.
type faultState struct {
	order    map[int]int // by interaction: its place, from 1, among those that the fault matched
	strikes  map[int]int // by interaction: how many replies the fault changed
	fired    bool
	idleness string // why it was not applied to a reply that it matched
}

// Injector returns an injector at the beginning of the plan.
func (p Plan) Injector(seed uint64) *Injector {
	j := &Injector{plan: p, seed: seed, state: make([]faultState, len(p.Faults))}
	for i := range j.state {
		j.state[i] = faultState{order: map[int]int{}, strikes: map[int]int{}}
	}
	return j
}

// Apply returns the script as the plan changes it.
func (j *Injector) Apply(s Script, r Reply) (Script, Outcome) {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := Outcome{Consumed: true}
	due := j.dueFaults(r)
	if len(due) == 0 {
		return s, out
	}
	t := newTarget(s, r.Provider)
	var edits []edit
	var of []int // the fault of each edit
	for _, i := range due {
		f := j.plan.Faults[i]
		if replaced, ok := f.replaceReply(t); ok {
			if len(edits) > 0 {
				j.state[i].idleness = "it waited for a second request, after the faults above it"
				continue
			}
			j.recordFired(&out, i, r, 0, false)
			return replaced, out
		}
		e, ok := f.editFor(t, Dice(j.seed, i, r.Interaction, j.state[i].strikes[r.Interaction]))
		if !ok {
			j.state[i].idleness = fmt.Sprintf("interaction %d has %d events and %d bytes, and no such place", r.Interaction, len(t.events), len(t.body))
			continue
		}
		edits, of = append(edits, e), append(of, i)
	}
	s, made := applyEdits(s, edits)
	for _, k := range made {
		f := j.plan.Faults[of[k]]
		j.recordFired(&out, of[k], r, edits[k].at, edits[k].end == "" && f.Kind != kindContentLength)
	}
	return s, out
}

// dueFaults returns the indexes of the faults that apply to a reply.
func (j *Injector) dueFaults(r Reply) (due []int) {
	for i, f := range j.plan.Faults {
		if !f.matchesReply(r) {
			continue
		}
		state := &j.state[i]
		if state.order[r.Interaction] == 0 {
			state.order[r.Interaction] = len(state.order) + 1
		}
		switch {
		case f.Nth > 0 && state.order[r.Interaction] != f.Nth:
		case state.strikes[r.Interaction] >= f.Times:
		case f.Chance < 1 && Dice(j.seed, i, r.Interaction).Float64() >= f.Chance:
		default:
			due = append(due, i)
		}
	}
	return due
}

func (f Fault) matchesReply(r Reply) bool {
	return (f.Interaction < 0 || f.Interaction == r.Interaction) &&
		(f.Provider == "" || f.Provider == r.Provider) &&
		(f.Operation == "" || f.Operation == r.Operation)
}

// recordFired notes a fault that was applied at a byte of the recorded body. whole says that the
// client gets all of the reply.
func (j *Injector) recordFired(out *Outcome, i int, r Reply, at int, whole bool) {
	f, state := j.plan.Faults[i], &j.state[i]
	state.fired = true
	state.strikes[r.Interaction]++
	name := f
	name.Place = Place{}
	out.Fired = append(out.Fired, Fired{Interaction: r.Interaction, Fault: name.String(), At: f.Place.String(), Byte: at, Line: f.Line})
	if f.Consume != nil {
		whole = *f.Consume
	}
	out.Consumed = out.Consumed && whole
}

// Idle names the faults that were never applied and are not left to chance, each with the reason
// if it is known. A run with such faults has tested less than its plan says.
func (j *Injector) Idle() (lines []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, f := range j.plan.Faults {
		if j.state[i].fired || f.Chance < 1 {
			continue
		}
		why := cmp.Or(j.state[i].idleness, "no request chose it")
		lines = append(lines, fmt.Sprintf("%s:%d: %s never struck: %s", j.plan.Name, f.Line, f, why))
	}
	return lines
}
