// Package fault changes how a recorded reply is played: it cuts the same bytes
// into other chunks, or does to them what networks, gateways and providers do
// on bad days. Both are pure functions from one Script to another, decided by
// a seed alone, so that what once broke an agent breaks it again (DESIGN §4).
package fault

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Script is a reply as it is to be played. Transformations return a new one and
// leave theirs alone, except that header values and body bytes are shared.
type Script struct {
	// Status is the reply's; 0 means that not even a header comes.
	Status  int
	Header  http.Header
	Trailer http.Header // sent after a whole body
	// Wait is the recorded time from the request to the header.
	Wait time.Duration
	// Hold is waited for before the header besides, whatever the speed.
	Hold  time.Duration
	Steps []Step
	End   End
}

// Step is one write.
type Step struct {
	// At is when it was recorded, counted from the header.
	At time.Duration
	// Hold is waited for besides, whatever the speed; it delays all that follow.
	Hold time.Duration
	// Data is written at once; empty, the step is only a wait.
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

// Body returns what the steps write, in one piece of its own.
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

// dropWrongLength drops a Content-Length that the changed body no longer has: a body
// that was cut by force keeps it, that is how its reader knows.
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

// Dice returns the source of chance for one thing: the same one for the same
// seed and salts, whatever else runs beside it. It is for one goroutine.
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
// order. A piece comes when its last byte was recorded; what is held back stays
// so, between the bytes where it was.
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
