package fault

import (
	"math"
	"slices"
	"time"
)

// edit is one change of a script at an offset of its recorded body. Offsets are
// those of the recording, however many edits there are.
type edit struct {
	at     int
	drop   int                 // how many bytes are left out from there on
	writes [][]byte            // what is inserted, each by one write
	every  time.Duration       // the time between the writes
	hold   time.Duration       // the wait before what follows
	end    End                 // if not "", the reply ends there in this way
	head   func(Script) Script // changes status, header or length; may be nil
}

// applyEdits makes the edits in the order of their offsets; at one offset, in
// the order of the list. An edit after an ending is not made. made lists the
// indexes of those that were.
func applyEdits(s Script, edits []edit) (out Script, made []int) {
	order := make([]int, len(edits))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return edits[a].at - edits[b].at })
	rest := remaining{steps: s.Steps}
	out = s
	out.Steps = nil
	var ended bool
	for _, i := range order {
		e := edits[i]
		made = append(made, i)
		out.Steps = append(out.Steps, rest.takeUntil(e.at)...)
		rest.skipBytes(e.at + e.drop - rest.pos) // what an edit before left out is gone already
		out.Steps = append(out.Steps, rest.insertionSteps(e)...)
		rest.hold += e.hold
		if ended = e.end != ""; ended {
			out.End, out.Trailer = e.end, nil
			break
		}
	}
	if !ended {
		out.Steps = append(out.Steps, rest.takeUntil(math.MaxInt)...)
	}
	if rest.hold > 0 {
		out.Steps = append(out.Steps, Step{At: rest.now, Hold: rest.hold})
	}
	out = out.dropWrongLength()
	for _, i := range made {
		if edits[i].head != nil {
			out = edits[i].head(out)
		}
	}
	return out, made
}

// remaining is the part of a script that has not been copied yet.
type remaining struct {
	steps []Step
	pos   int           // in the recorded body
	now   time.Duration // when what was taken last was recorded
	hold  time.Duration // to be waited before the next step
}

// takeUntil takes the steps up to an offset and divides the step that contains
// it.
func (r *remaining) takeUntil(at int) (taken []Step) {
	for len(r.steps) > 0 && r.pos < at {
		step := r.steps[0]
		n := min(len(step.Data), at-r.pos)
		taken = append(taken, Step{At: step.At, Hold: step.Hold + r.hold, Data: step.Data[:n]})
		r.hold, r.now = 0, step.At
		r.advance(n)
	}
	return taken
}

func (r *remaining) skipBytes(n int) {
	for len(r.steps) > 0 && n > 0 {
		size := min(len(r.steps[0].Data), n)
		r.now = r.steps[0].At
		r.advance(size)
		n -= size
	}
}

func (r *remaining) advance(n int) {
	r.pos += n
	step := &r.steps[0]
	if n == len(step.Data) {
		r.steps = r.steps[1:]
		return
	}
	r.steps = slices.Clone(r.steps)
	r.steps[0].Data, r.steps[0].Hold = step.Data[n:], 0
}

// insertionSteps returns the steps that an edit inserts.
func (r *remaining) insertionSteps(e edit) (steps []Step) {
	for i, data := range e.writes {
		step := Step{At: r.now, Hold: r.hold, Data: data}
		if i > 0 {
			step.Hold += e.every
		}
		r.hold = 0
		steps = append(steps, step)
	}
	return steps
}
