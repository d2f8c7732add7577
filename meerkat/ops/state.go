package ops

import (
	"fmt"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// state is a tree of operations. It is a value: step never changes the one it is given.
type state struct {
	limits        ConcurrencyLimits
	injection     InjectionPolicy
	steeringDepth int
	overflow      SteeringOverflow

	agents     []*agentState     // never changed in place
	operations []*operationState // in the order of submission, never changed in place
}

// agentState is an agent that is at work: the root of the tree, or a sub-agent.
type agentState struct {
	id      session.ID
	depth   int
	noSpawn bool
	lastSeq uint64
	// directives are those that were ever queued.
	directives []Directive
	over       bool // its run has ended
}

// operationState is one operation.
type operationState struct {
	spec       OperationSpec
	parent     session.ID
	status     OpStatus
	held       bool // its submission is not recorded yet
	cancelling bool // it was asked to end
	submitted  time.Time
	started    time.Time
	ended      time.Time
	order      int // of its end, from 1
	attempt    int
	progress   string
	percent    *float64
	result     OpResult
	delivered  bool
}

// outcome is how the work of an operation ended.
type outcome struct {
	status OpStatus
	result OpResult // its causality is not set
}

func (s *state) findAgent(id session.ID) *agentState {
	for _, a := range s.agents {
		if a.id == id {
			return a
		}
	}
	return nil
}

func (s *state) findOperation(id OperationID) *operationState {
	for _, o := range s.operations {
		if o.spec.ID == id {
			return o
		}
	}
	return nil
}

// resolveName returns the operation of an agent that a name means, which is its id or label.
func (s *state) resolveName(agent session.ID, name string) (*operationState, error) {
	var known []string
	for _, o := range s.operations {
		if o.parent != agent {
			continue
		}
		if string(o.spec.ID) == name || o.spec.Label == name && name != "" {
			return o, nil
		}
		known = append(known, string(o.spec.ID))
		if o.spec.Label != "" {
			known = append(known, o.spec.Label)
		}
	}
	if known == nil {
		return nil, &UnknownOperationError{Name: name, Hint: "; it has started none"}
	}
	return nil, &UnknownOperationError{Name: name, Hint: "; " + spelling.Advice(name, known)}
}

// openCount counts the operations that have not ended and that fit.
func (s *state) openCount(fits func(*operationState) bool) int {
	n := 0
	for _, o := range s.operations {
		if !o.status.IsFinal() && fits(o) {
			n++
		}
	}
	return n
}

// childrenOf returns the operations of an agent in the order of submission.
func (s *state) childrenOf(agent session.ID) []*operationState {
	return slices.DeleteFunc(slices.Clone(s.operations), func(o *operationState) bool { return o.parent != agent })
}

// injectableOperations returns the operations whose results may enter the conversation of an agent
// now, in the order in which they do.
func (s *state) injectableOperations(agent session.ID) (ready []*operationState) {
	for _, o := range s.childrenOf(agent) {
		switch {
		case o.delivered:
		case o.status.IsFinal():
			ready = append(ready, o)
		case s.injection == SubmissionOrder:
			return ready
		case s.injection == BatchAfterAll:
			return nil
		}
	}
	if s.injection == CompletionOrder {
		slices.SortStableFunc(ready, func(a, b *operationState) int { return a.order - b.order })
	}
	return ready
}

// isAwaited reports whether the operations have come to what mode waits for.
func (s *state) isAwaited(ids []OperationID, mode AwaitMode) bool {
	ended, completed := 0, 0
	for _, id := range ids {
		if o := s.findOperation(id); o.status.IsFinal() {
			ended++
			if o.status == Completed {
				completed++
			}
		}
	}
	switch mode {
	case AwaitAny:
		return ended > 0 || len(ids) == 0
	case AwaitFirstSuccess:
		return completed > 0 || ended == len(ids)
	default:
		return ended == len(ids)
	}
}

// queuedDirectives returns the directives that wait for the next turn of an agent.
func (s *state) queuedDirectives(agent session.ID) (waiting []Directive) {
	a := s.findAgent(agent)
	if a == nil {
		return nil
	}
	for _, d := range a.directives {
		if d.Status == SteeringQueued {
			waiting = append(waiting, d)
		}
	}
	return waiting
}

// resultOf returns the result of an operation with its causality.
func (o *operationState) resultOf() OpResult {
	r := o.result
	r.Label = o.spec.Label
	r.OpCausality = OpCausality{
		OpID: o.spec.ID, SubmittedAt: o.submitted, StartedAt: o.started, CompletedAt: o.ended,
		DependsOn: o.spec.DependsOn, Attempt: o.attempt, Status: o.status,
	}
	if o.spec.Depth > 1 {
		r.ParentOpID = o.parent
	}
	return r
}

// displayName returns the label of an operation, or its id.
func (o *operationState) displayName() string {
	if o.spec.Label != "" {
		return fmt.Sprintf("%s (%s)", o.spec.Label, o.spec.ID)
	}
	return string(o.spec.ID)
}
