package ops

import (
	"fmt"
	"slices"
	"strings"
)

// MaxDirective is the most bytes of a directive.
const MaxDirective = 32 << 10

// handleSteer queues a directive. When the queue is full, the policy decides.
func (t *transition) handleSteer(in steerInput) error {
	if text := strings.TrimSpace(in.text); text == "" || len(in.text) > MaxDirective {
		return &SteerError{in.agent, fmt.Sprintf("the directive has %d bytes; give 1 to %d", len(text), MaxDirective)}
	}
	a := t.state.findAgent(in.agent)
	if o := t.state.findOperation(in.agent); o != nil && o.status.IsFinal() {
		return &SteerError{in.agent, fmt.Sprintf("it is %s and takes no directives; start another one", o.status)}
	}
	if a == nil || a.over {
		return &SteerError{in.agent, "it is not running and takes no directives"}
	}
	waiting := t.state.queuedDirectives(in.agent)
	if len(waiting) >= t.state.steeringDepth && t.state.overflow == RefuseNew {
		return &SteerError{
			in.agent, fmt.Sprintf("%d directives wait for its next turn already; try again later", len(waiting)),
		}
	}
	t.changeAgent(in.agent, func(a *agentState) {
		if len(waiting) >= t.state.steeringDepth {
			oldest := slices.IndexFunc(a.directives, func(d Directive) bool { return d.Status == SteeringQueued })
			a.directives[oldest].Status = SteeringExpired
		}
		a.lastSeq++
		a.directives = append(a.directives, Directive{ID: in.id, Seq: a.lastSeq, Text: in.text, Status: SteeringQueued})
		a.directives = forgetOld(a.directives, 4*t.state.steeringDepth)
	})
	return nil
}

// forgetOld bounds the directives that are remembered after they were settled.
func forgetOld(all []Directive, limit int) []Directive {
	for len(all) > limit {
		settled := slices.IndexFunc(all, func(d Directive) bool { return d.Status != SteeringQueued })
		if settled < 0 {
			break
		}
		all = slices.Delete(all, settled, settled+1)
	}
	return all
}

// handleApplied notes that directives are in the conversation.
func (t *transition) handleApplied(in appliedInput) {
	t.changeAgent(in.agent, func(a *agentState) {
		for i := range a.directives {
			if d := &a.directives[i]; d.Status == SteeringQueued && slices.Contains(in.ids, d.ID) {
				d.Status = SteeringApplied
			}
		}
	})
	o := t.state.findOperation(in.agent)
	if o == nil {
		return // the root has no parent to tell
	}
	for _, id := range in.ids {
		t.emitEvent(o, OpEvent{Type: EventSteeringApplied, SteeringID: id})
	}
}
