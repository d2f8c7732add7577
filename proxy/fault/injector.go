// Package fault changes how a recorded reply is sent: [Rechunk] cuts the same bytes into other
// chunks, and a [Plan] applies faults that networks, gateways and providers have.
//
// A plan is a YAML file that [Parse] reads. Its [Injector] changes one reply, a
// [Script], after the other:
//
//	plan, err := fault.Parse("faults.yaml", data)
//	injector := plan.Injector(seed)
//	script, outcome := injector.Apply(script, fault.Reply{Interaction: i})
//
// Every transformation is a function from one Script to another. The seed alone
// decides what is left to chance, so that a fault that once broke an agent
// breaks it again.
package fault

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

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
			j.state[i].idleness = fmt.Sprintf("interaction %d has %d events and %d bytes, and no such place",
				r.Interaction, len(t.events), len(t.body))
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
	out.Fired = append(out.Fired, Fired{Interaction: r.Interaction, Fault: name.String(), At: f.Place.String(),
		Byte: at, Line: f.Line})
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

// Script is a reply as it is to be sent. Transformations return a new script and
// do not change their argument; header values and body bytes are shared.
type Script struct {
	// Status is the reply's; 0 means that not even a header is sent.
	Status  int
	Header  http.Header
	Trailer http.Header // sent after a whole body
	// Wait is the recorded time from the request to the header.
	Wait time.Duration
	// Hold is an additional wait before the header, at any speed.
	Hold  time.Duration
	Steps []Step
	End   End
}

// Step is one write.
type Step struct {
	// At is when the step was recorded, counted from the header.
	At time.Duration
	// Hold is an additional wait, at any speed. It delays all later steps.
	Hold time.Duration
	// Data is written at once. When it is empty, the step is only a wait.
	Data []byte
}

// End says how a reply ends.
type End string

// The endings.
const (
	EOF   End = "eof"   // the message is ended as its protocol says
	Close End = "close" // the connection is closed, the message is not ended
	Reset End = "reset" // TCP RST, in HTTP/2 RST_STREAM
)

// Body returns the bytes of all steps in a new slice.
func (s Script) Body() []byte {
	n := 0
	for _, step := range s.Steps {
		n += len(step.Data)
	}
	body := make([]byte, 0, n)
	for _, step := range s.Steps {
		body = append(body, step.Data...)
	}
	return body
}

// setHeader returns the script with one header replaced, in a copy.
func (s Script) setHeader(name, value string) Script {
	if s.Header = s.Header.Clone(); s.Header == nil {
		s.Header = http.Header{}
	}
	s.Header.Set(name, value)
	return s
}

// dropWrongLength removes a Content-Length that the changed body does not have.
// A body that was cut keeps it: that is how its reader notices.
func (s Script) dropWrongLength() Script {
	declared := s.Header.Get("Content-Length")
	n, err := strconv.Atoi(declared)
	size := len(s.Body())
	if declared != "" && (err != nil || n < size || s.End == EOF && n != size) {
		s.Header = s.Header.Clone()
		s.Header.Del("Content-Length")
	}
	return s
}

// Dice returns a source of randomness that depends only on the seed and the
// salts. It is for one goroutine.
func Dice(seed uint64, salts ...int) *rand.Rand {
	const odd = 0x9e3779b97f4a7c15 // spreads small numbers over all bits
	stream := uint64(len(salts))
	for _, salt := range salts {
		stream = (stream ^ uint64(salt) + 1) * odd //nolint:gosec // all bits count, and none is lost
		stream ^= stream >> 29
	}
	return rand.New(rand.NewPCG(seed, stream)) //nolint:gosec // it must repeat
}

// cutSteps returns the steps with the same bytes divided at the offsets, in any
// order. A piece is sent when its last byte was recorded; pauses stay between
// the bytes where they were.
func cutSteps(steps []Step, offsets []int) []Step {
	body := Script{Steps: steps}.Body()
	holds := map[int]time.Duration{}
	cuts, at := append(slices.Clone(offsets), len(body)), 0
	for _, step := range steps {
		if step.Hold > 0 {
			holds[at] += step.Hold
			cuts = append(cuts, at)
		}
		at += len(step.Data)
	}
	slices.Sort(cuts)
	var out []Step
	from, end, i := 0, 0, -1 // end is where step i's bytes do
	for _, to := range slices.Compact(cuts) {
		if to == from {
			continue
		}
		for end < to {
			i++
			end += len(steps[i].Data)
		}
		out = append(out, Step{At: steps[i].At, Hold: holds[from], Data: body[from:to]})
		from = to
	}
	if hold := holds[len(body)]; hold > 0 {
		out = append(out, Step{At: steps[len(steps)-1].At, Hold: hold})
	}
	return out
}

// target is a recorded reply, split so that places can be found in it.
type target struct {
	script   Script
	provider string
	body     []byte
	events   []llm.Frame
	terminal int // index of the event that says the reply is whole, or -1
	framing  llm.Framing
	newline  string
}

func newTarget(s Script, provider string) target {
	t := target{script: s, provider: provider, body: s.Body(), terminal: -1, newline: "\n"}
	kind := s.Header.Get("Content-Type")
	t.framing = llm.FramingOf(kind, t.body)
	if t.framing == llm.Document {
		return t
	}
	for f := range llm.Frames(kind, t.body) {
		if f.Whole && f.Data != nil {
			t.events = append(t.events, f)
		}
	}
	for i, e := range t.events {
		if (t.terminal < 0 || llm.MayGoOn(provider)) && llm.IsTerminalEvent(provider, e.Data) {
			t.terminal = i
		}
	}
	if len(t.events) > 0 && bytes.HasSuffix(t.body[:t.events[0].End], []byte("\r\n")) {
		t.newline = "\r\n"
	}
	return t
}

// findPlace returns where in the body a place is, and how many events come
// before it; ok is false when this reply has no such place.
func (t target) findPlace(p Place) (at, before int, ok bool) {
	switch p.At {
	case nowhere, beforeHeader, atStart:
		return 0, 0, true
	case atByte:
		for before < len(t.events) && t.events[before].End <= p.N {
			before++
		}
		return p.N, before, p.N <= len(t.body)
	case afterEvent:
		before = p.N
	case beforeTerminal:
		before = t.terminal
	case afterTerminal:
		before = t.terminal + 1
	}
	if t.terminal < 0 && p.At != afterEvent || before > len(t.events) {
		return 0, 0, false
	}
	if before == 0 {
		return t.events[0].Start, 0, true
	}
	return t.events[before-1].End, before, true
}

// frameEvent frames data as the body frames its own events.
func (t target) frameEvent(name string, data []byte) []byte {
	switch t.framing {
	case llm.EventStream:
		var b bytes.Buffer
		if name != "" {
			b.WriteString("event: " + name + t.newline)
		}
		b.WriteString("data: ")
		b.Write(data)
		b.WriteString(t.newline + t.newline)
		return b.Bytes()
	case llm.Lines:
		return append(bytes.Clone(data), t.newline...)
	default:
		return data
	}
}

// separateEvent returns an event as it must stand between its neighbours:
// elements of an array have commas between them.
func (t target) separateEvent(event []byte, before int) []byte {
	switch {
	case t.framing != llm.Array:
		return event
	case before > 0:
		return append([]byte(","+t.newline), event...)
	case len(t.events) > 0:
		return append(bytes.Clone(event), ","+t.newline...)
	}
	return event
}
