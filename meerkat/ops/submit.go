package ops

import (
	"fmt"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// MaxLabel is the most bytes of a label.
const MaxLabel = 64

// handleSubmit adds operations, all of them or none. Those that are new are held until
// their submission is recorded.
func (t *transition) handleSubmit(in submitInput) error {
	a := t.state.findAgent(in.agent)
	specs := slices.Clone(in.specs)
	for i := range specs {
		specs[i].Depth = a.depth + 1
	}
	if err := t.state.checkSubmission(a, specs, in.restored); err != nil {
		return err
	}
	for _, spec := range specs {
		t.state.operations = append(
			slices.Clip(t.state.operations),
			&operationState{spec: spec, parent: a.id, status: Pending, held: !in.restored, submitted: in.at},
		)
		if spec.Kind == SubAgent { // it takes directives before it runs
			t.state.agents = append(
				slices.Clip(t.state.agents), &agentState{id: spec.ID, depth: spec.Depth, noSpawn: spec.NoSpawn},
			)
		}
	}
	if in.restored {
		t.settleAll(in.at, specs)
	}
	return nil
}

func (t *transition) settleAll(at time.Time, specs []OperationSpec) {
	for _, spec := range specs {
		t.settlePending(at, spec.ID)
	}
}

// handleRecorded starts the operations that wait for nothing.
func (t *transition) handleRecorded(in recordedInput) {
	for _, spec := range in.specs {
		t.changeOperation(spec.ID, func(o *operationState) { o.held, o.spec = false, spec })
	}
	t.settleAll(in.at, in.specs)
}

// handleWithdraw forgets operations that could not be recorded.
func (t *transition) handleWithdraw(in withdrawInput) {
	t.state.operations = slices.DeleteFunc(
		slices.Clone(t.state.operations), func(o *operationState) bool { return slices.Contains(in.ids, o.spec.ID) },
	)
	t.state.agents = slices.DeleteFunc(
		slices.Clone(t.state.agents), func(a *agentState) bool { return slices.Contains(in.ids, a.id) },
	)
}

// settlePending starts an operation that was added, or ends it when something that it
// depends on has ended without completing meanwhile.
func (t *transition) settlePending(at time.Time, id OperationID) {
	o := t.state.findOperation(id)
	if o.status != Pending {
		return
	}
	for _, on := range o.spec.DependsOn {
		if d := t.state.findOperation(on); d.status.IsFinal() && d.status != Completed {
			t.resolveDependents(at, d)
			return
		}
	}
	t.startIfReady(id)
}

// checkSubmission returns why operations cannot be submitted, nil if they can. The
// limits do not hold for those of an earlier run: they were accepted then.
func (s *state) checkSubmission(a *agentState, specs []OperationSpec, restored bool) error {
	if !restored {
		if err := s.checkLimits(a, specs); err != nil {
			return err
		}
	}
	var names []string
	for i := range specs {
		if err := s.checkNames(a.id, &specs[i], names); err != nil {
			return err
		}
		names = append(names, string(specs[i].ID), specs[i].Label)
	}
	for i := range specs {
		if err := s.checkDependencies(a.id, &specs[i], specs, restored); err != nil {
			return err
		}
	}
	return findCycle(specs)
}

// checkLimits returns a *LimitError when the tree has no room for more operations.
func (s *state) checkLimits(a *agentState, specs []OperationSpec) error {
	agents := len(slices.DeleteFunc(slices.Clone(specs), func(o OperationSpec) bool { return o.Kind != SubAgent }))
	switch {
	case agents == 0:
	case a.noSpawn || s.limits.MaxDepth < 0:
		return &LimitError{What: whatLevels}
	case a.depth >= s.limits.MaxDepth:
		return &LimitError{What: whatLevels, Limit: s.limits.MaxDepth}
	}
	for _, l := range []LimitError{
		{
			whatChildren, s.limits.MaxChildrenPerAgent,
			s.openCount(func(o *operationState) bool { return o.parent == a.id }), len(specs),
			"operations.max_children_per_agent",
		},
		{
			whatAgents, s.limits.MaxConcurrentAgents,
			s.openCount(func(o *operationState) bool { return o.spec.Kind == SubAgent }), agents,
			"operations.max_concurrent_agents",
		},
		{
			whatOps, s.limits.MaxConcurrentOps, s.openCount(func(*operationState) bool { return true }), len(specs),
			"operations.max_concurrent_ops",
		},
	} {
		if l.Open+l.Asked > l.Limit {
			return &l
		}
	}
	return nil
}

// checkNames rejects an id or label that is in use, and labels that are not one line.
func (s *state) checkNames(agent session.ID, spec *OperationSpec, taken []string) error {
	label := spec.Label
	switch {
	case len(label) > MaxLabel:
		return fmt.Errorf("name %.20q…: it has %d bytes, and %d are allowed", label, len(label), MaxLabel)
	case !utf8.ValidString(label) || slices.ContainsFunc([]rune(label), unicode.IsControl):
		return fmt.Errorf("name %q: it must be one line of text", label)
	case s.findOperation(spec.ID) != nil || slices.Contains(taken, string(spec.ID)):
		return fmt.Errorf("operation %s: the id is in use", spec.ID)
	case label == "":
		return nil
	}
	if _, err := s.resolveName(agent, label); err == nil || slices.Contains(taken, label) {
		return fmt.Errorf("name %q: an operation of this agent has it already; choose another", label)
	}
	return nil
}

// checkDependencies rejects dependencies that the agent has not submitted, and those
// that have ended without completing.
func (s *state) checkDependencies(agent session.ID, spec *OperationSpec, together []OperationSpec,
	restored bool) error {
	for _, on := range spec.DependsOn {
		if slices.ContainsFunc(together, func(o OperationSpec) bool { return o.ID == on }) {
			continue
		}
		o, err := s.resolveName(agent, string(on))
		if err != nil {
			return err
		}
		if o.status.IsFinal() && o.status != Completed && !restored {
			return &DependencyError{spec.ID, on, o.status}
		}
	}
	return nil
}

// findCycle returns a *CycleError when operations that are submitted together depend on
// one another in a circle. Earlier ones cannot be part of it.
func findCycle(specs []OperationSpec) error {
	byID := map[OperationID]*OperationSpec{}
	for i := range specs {
		byID[specs[i].ID] = &specs[i]
	}
	done := map[OperationID]bool{}
	var path []OperationID
	var visit func(id OperationID) error
	visit = func(id OperationID) error {
		spec := byID[id]
		if spec == nil || done[id] {
			return nil
		}
		if at := slices.Index(path, id); at >= 0 {
			return &CycleError{append(slices.Clone(path[at:]), id)}
		}
		path = append(path, id)
		for _, on := range spec.DependsOn {
			if err := visit(on); err != nil {
				return err
			}
		}
		path = path[:len(path)-1]
		done[id] = true
		return nil
	}
	for i := range specs {
		if err := visit(specs[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// handleRestore adds an operation that an earlier run has ended.
func (t *transition) handleRestore(in restoreInput) {
	spec := in.spec
	spec.Depth = t.state.findAgent(in.agent).depth + 1
	last := 0
	for _, o := range t.state.operations {
		last = max(last, o.order)
	}
	t.state.operations = append(slices.Clip(t.state.operations), &operationState{
		spec: spec, parent: in.agent, status: in.result.Status, submitted: in.submitted, started: in.result.StartedAt,
		ended: in.result.CompletedAt, order: last + 1, attempt: in.result.Attempt, result: in.result,
		delivered: in.delivered,
	})
}
