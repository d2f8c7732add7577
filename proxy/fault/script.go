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
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"
)

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
