package ops

import (
	"fmt"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// input is what happened.
type input interface{ isInput() }

type (
	// joinInput is the beginning of a run: of the root, or of a sub-agent.
	joinInput struct {
		id      session.ID
		depth   int
		noSpawn bool
	}
	// leaveInput is the end of that run.
	leaveInput struct {
		id        session.ID
		completed bool
	}
	// submitInput submits operations of one agent, all of them or none. restored says
	// that their submission was recorded by an earlier run.
	submitInput struct {
		at       time.Time
		agent    session.ID
		specs    []OperationSpec
		restored bool
	}
	// restoreInput is an operation of an earlier run that has ended.
	restoreInput struct {
		agent     session.ID
		spec      OperationSpec
		submitted time.Time
		result    OpResult
		delivered bool
	}
	// recordedInput says that the submission of operations is durable; withdrawInput that
	// it could not be recorded.
	recordedInput struct {
		at time.Time
		// specs are as they were recorded, with their budgets.
		specs []OperationSpec
	}
	withdrawInput struct{ ids []OperationID }
	startedInput  struct {
		at time.Time
		id OperationID
	}
	progressInput struct {
		id      OperationID
		message string
		percent *float64
	}
	endedInput struct {
		at  time.Time
		id  OperationID
		end outcome
	}
	cancelInput struct {
		at  time.Time
		ids []OperationID
	}
	// steerInput queues a directive for an agent.
	steerInput struct {
		agent    session.ID
		id, text string
	}
	// appliedInput says that directives are in the conversation of an agent.
	appliedInput struct {
		agent session.ID
		ids   []string
	}
	// deliveredInput says that the model has received results.
	deliveredInput struct{ ids []OperationID }
)

func (joinInput) isInput()      {}
func (leaveInput) isInput()     {}
func (submitInput) isInput()    {}
func (restoreInput) isInput()   {}
func (recordedInput) isInput()  {}
func (withdrawInput) isInput()  {}
func (startedInput) isInput()   {}
func (progressInput) isInput()  {}
func (endedInput) isInput()     {}
func (cancelInput) isInput()    {}
func (steerInput) isInput()     {}
func (appliedInput) isInput()   {}
func (deliveredInput) isInput() {}

// effect is what to do next.
type effect interface{ isEffect() }

type (
	// startEffect starts the work of an operation.
	startEffect struct{ id OperationID }
	// stopEffect asks the work of an operation to end; an endedInput follows.
	stopEffect struct{ id OperationID }
	// eventEffect tells the parent of an operation what happened to it.
	eventEffect struct {
		to    session.ID
		event OpEvent
	}
	// refuseEffect is the only effect of an input that is refused. The state is as it was.
	refuseEffect struct{ err error }
)

func (startEffect) isEffect()  {}
func (stopEffect) isEffect()   {}
func (eventEffect) isEffect()  {}
func (refuseEffect) isEffect() {}

// step returns the next state and the effects of an input. It is pure.
func step(s state, in input) (state, []effect) {
	t := transition{state: s}
	var err error
	switch in := in.(type) {
	case joinInput:
		t.handleJoin(in)
	case leaveInput:
		t.handleLeave(in)
	case submitInput:
		err = t.handleSubmit(in)
	case recordedInput:
		t.handleRecorded(in)
	case withdrawInput:
		t.handleWithdraw(in)
	case restoreInput:
		t.handleRestore(in)
	case startedInput:
		t.handleStarted(in)
	case progressInput:
		t.handleProgress(in)
	case endedInput:
		t.endOperation(in.at, in.id, in.end)
	case cancelInput:
		t.handleCancel(in)
	case steerInput:
		err = t.handleSteer(in)
	case appliedInput:
		t.handleApplied(in)
	case deliveredInput:
		t.handleDelivered(in)
	default:
		panic("ops: unknown input")
	}
	if err != nil {
		return s, []effect{refuseEffect{err}}
	}
	return t.state, t.effects
}

// transition collects the effects of one step while it changes the state.
type transition struct {
	state   state
	effects []effect
}

// changeOperation replaces an operation by a changed copy.
func (t *transition) changeOperation(id OperationID, change func(*operationState)) *operationState {
	for i, o := range t.state.operations {
		if o.spec.ID == id {
			changed := *o
			change(&changed)
			t.state.operations = slices.Clone(t.state.operations)
			t.state.operations[i] = &changed
			return &changed
		}
	}
	return nil
}

// changeAgent replaces an agent by a changed copy.
func (t *transition) changeAgent(id session.ID, change func(*agentState)) {
	for i, a := range t.state.agents {
		if a.id == id {
			changed := *a
			changed.directives = slices.Clone(a.directives)
			change(&changed)
			t.state.agents = slices.Clone(t.state.agents)
			t.state.agents[i] = &changed
			return
		}
	}
}

// emitEvent tells the parent of an operation.
func (t *transition) emitEvent(o *operationState, e OpEvent) {
	e.ID, e.Label = o.spec.ID, o.spec.Label
	t.effects = append(t.effects, eventEffect{o.parent, e})
}

// handleJoin adds an agent. One that has been there before begins again.
func (t *transition) handleJoin(in joinInput) {
	agents := slices.DeleteFunc(
		slices.Clone(t.state.agents), func(a *agentState) bool { return a.id == in.id && a.over },
	)
	t.state.agents = agents
	if a := t.state.findAgent(in.id); a == nil {
		t.state.agents = append(agents, &agentState{id: in.id, depth: in.depth, noSpawn: in.noSpawn})
	}
}

// handleLeave ends the run of an agent. Its operations cannot go on without it.
func (t *transition) handleLeave(in leaveInput) {
	t.closeSteering(in.id, in.completed)
	for _, o := range t.state.childrenOf(in.id) {
		if !o.status.IsFinal() && o.status == Running && !o.cancelling {
			t.changeOperation(o.spec.ID, func(o *operationState) { o.cancelling = true })
			t.effects = append(t.effects, stopEffect{o.spec.ID})
		}
	}
}

// closeSteering ends the directives of an agent that takes no more of them.
func (t *transition) closeSteering(id session.ID, completed bool) {
	t.changeAgent(id, func(a *agentState) {
		a.over = true
		for i := range a.directives {
			switch d := &a.directives[i]; {
			case d.Status != SteeringQueued:
			case completed:
				d.Status = SteeringExpired
			default:
				d.Status = SteeringFailed
			}
		}
	})
}

func (t *transition) handleStarted(in startedInput) {
	o := t.changeOperation(in.id, func(o *operationState) {
		o.started, o.attempt = in.at, o.attempt+1
	})
	t.emitEvent(o, OpEvent{Type: EventStarted, Kind: o.spec.Kind})
}

func (t *transition) handleProgress(in progressInput) {
	o := t.changeOperation(in.id, func(o *operationState) { o.progress, o.percent = in.message, in.percent })
	t.emitEvent(o, OpEvent{Type: EventProgress, Message: in.message, Percent: in.percent})
}

// endOperation ends an operation, and those that depend on it unless it completed.
func (t *transition) endOperation(at time.Time, id OperationID, end outcome) {
	o := t.state.findOperation(id)
	if o.status.IsFinal() {
		return
	}
	if o.cancelling && end.status != Completed {
		end.status = Cancelled
	}
	last := 0
	for _, other := range t.state.operations {
		last = max(last, other.order)
	}
	o = t.changeOperation(id, func(o *operationState) {
		o.status, o.ended, o.order, o.result = end.status, at, last+1, end.result
		if end.result.Attempt > 0 {
			o.attempt = end.result.Attempt
		}
	})
	e := OpEvent{Error: o.result.Error}
	switch o.status {
	case Completed:
		e.Type, e.Result = EventCompleted, cutText(o.result.Text+o.result.Summary, shownResult)
	case Cancelled:
		e.Type = EventCancelled
	case Interrupted:
		e.Type = EventInterrupted
	default:
		e.Type = EventFailed
	}
	t.emitEvent(o, e)
	t.closeSteering(id, end.status == Completed)
	t.resolveDependents(at, o)
}

// shownResult is how much of a result is in an event, in bytes.
const shownResult = 1 << 10

// resolveDependents starts the operations that waited for o only, or ends those that
// depend on it when it did not complete.
func (t *transition) resolveDependents(at time.Time, o *operationState) {
	for _, d := range t.state.childrenOf(o.parent) {
		if d.status != Pending || !slices.Contains(d.spec.DependsOn, o.spec.ID) {
			continue
		}
		if o.status == Completed {
			t.startIfReady(d.spec.ID)
			continue
		}
		end := outcome{status: Failed}
		if d.spec.Policy.OnDependencyFailure == CancelDependents {
			end.status = Cancelled
		}
		end.result.Error = fmt.Sprintf(
			"it was not started: operation %s, which it depends on, is %s", o.displayName(), o.status,
		)
		t.endOperation(at, d.spec.ID, end)
	}
}

// startIfReady starts an operation when all that it depends on has completed.
func (t *transition) startIfReady(id OperationID) {
	o := t.state.findOperation(id)
	for _, on := range o.spec.DependsOn {
		if t.state.findOperation(on).status != Completed {
			return
		}
	}
	t.changeOperation(id, func(o *operationState) { o.status = Running })
	t.effects = append(t.effects, startEffect{id})
}

// handleCancel asks operations to end. One that has not started ends at once.
func (t *transition) handleCancel(in cancelInput) {
	for _, id := range in.ids {
		o := t.state.findOperation(id)
		switch {
		case o.status.IsFinal() || o.cancelling:
		case o.status == Pending:
			t.endOperation(in.at, id, outcome{
				status: Cancelled, result: OpResult{Error: "it was cancelled before it started"},
			})
		default:
			t.changeOperation(id, func(o *operationState) { o.cancelling = true })
			t.effects = append(t.effects, stopEffect{id})
		}
	}
}

func (t *transition) handleDelivered(in deliveredInput) {
	for _, id := range in.ids {
		t.changeOperation(id, func(o *operationState) { o.delivered = true })
	}
}
