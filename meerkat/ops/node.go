package ops

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// Node is an agent that runs, seen from inside: what it may do with its operations. It is
// safe for concurrent use until Leave.
type Node struct {
	tree   *tree
	id     session.ID
	isRoot bool
	ctx    context.Context //nolint:containedctx // of the run, which the Node belongs to

	submitting sync.Mutex // submissions are recorded one after the other
	claims     sync.Map   // string, the id of a tool call → []OpResult that its result holds
}

// News is what an agent has not seen yet.
type News struct {
	// Events are what happened to its operations, for those who watch.
	Events []OpEvent
	// Results are those that the model may get now. They come again until they are
	// settled.
	Results []OpResult
	// Directives steer the agent. They come again until they are settled.
	Directives []Directive
	// Open is set while the model still waits for the result of an operation.
	Open bool
}

// isEmpty reports whether there is nothing for the model.
func (n *News) isEmpty() bool { return len(n.Results)+len(n.Directives)+len(n.Events) == 0 }

// Drain takes the events that have arrived and returns what is ready.
func (n *Node) Drain() News {
	n.tree.mu.Lock()
	defer n.tree.mu.Unlock()
	return n.collectNews()
}

// Wait returns when there is news, when no operation is open, or when ctx ends.
func (n *Node) Wait(ctx context.Context) News {
	for {
		n.tree.mu.Lock()
		news, changed := n.collectNews(), n.tree.changed
		n.tree.mu.Unlock()
		if !news.isEmpty() || !news.Open {
			return news
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return news
		}
	}
}

// collectNews collects what there is. The caller holds the lock.
func (n *Node) collectNews() News {
	s := &n.tree.state
	news := News{Events: n.tree.takeEvents(n.id), Directives: s.queuedDirectives(n.id)}
	for _, o := range s.injectableOperations(n.id) {
		news.Results = append(news.Results, o.resultOf())
	}
	news.Open = slices.ContainsFunc(s.childrenOf(n.id), func(o *operationState) bool { return !o.delivered })
	return news
}

// takeEvents empties the inbox of an agent and lets those in who wait. The caller holds
// the lock.
func (t *tree) takeEvents(agent session.ID) []OpEvent {
	box := t.inboxes[agent]
	if box == nil || len(box.events) == 0 {
		return nil
	}
	events := box.events
	box.events = nil
	close(box.room)
	box.room = make(chan struct{})
	return events
}

// Settle says that results and directives are durable in the conversation.
func (n *Node) Settle(results []OperationID, directives []string) {
	if len(results) > 0 {
		_ = n.tree.applyInput(n.ctx, deliveredInput{results}, false) // it cannot be refused
	}
	if len(directives) > 0 {
		_ = n.tree.applyInput(n.ctx, appliedInput{n.id, directives}, true) // it cannot be refused
	}
}

// Leave ends the run of the agent: it stops the operations that have not ended and waits
// until their work is over. completed says that the agent has done its task.
func (n *Node) Leave(completed bool) {
	t := n.tree
	_ = t.applyInput(n.ctx, leaveInput{n.id, completed}, false) // it cannot be refused
	t.mu.Lock()
	t.takeEvents(n.id)
	if box := t.inboxes[n.id]; box != nil {
		close(box.room)
	}
	delete(t.inboxes, n.id)
	work := t.work[n.id]
	t.mu.Unlock()
	work.Wait()
	if n.isRoot {
		t.manager.forgetTree(t)
	}
}

// Recorder makes submissions durable. It returns the specs with the budgets that are set
// aside for them; shares is into how many parts what is left is divided for an operation
// that names no budget, and fork divides it instead if it is not nil.
type Recorder func(specs []OperationSpec, shares int, fork *session.ForkBudgetPolicy) ([]OperationSpec, error)

// Submit submits operations, all of them or none, and returns their ids. It returns when
// their submission is durable; those that wait for nothing have been started then.
// Dependencies may be ids or labels. Errors are *LimitError, *UnknownOperationError,
// *CycleError, *DependencyError and those of record.
func (n *Node) Submit(specs []OperationSpec, fork *session.ForkBudgetPolicy, record Recorder) ([]OperationID, error) {
	n.submitting.Lock()
	defer n.submitting.Unlock()
	t := n.tree
	specs = slices.Clone(specs)
	ids := make([]OperationID, len(specs))
	for i := range specs {
		if err := n.completeSpec(&specs[i]); err != nil {
			return nil, err
		}
		ids[i] = specs[i].ID
	}
	shares := n.freeChildren() + 1
	if err := t.applyInput(n.ctx, submitInput{at: t.currentTime(), agent: n.id, specs: specs}, false); err != nil {
		return nil, err
	}
	for i, id := range ids { // with what the state has filled in
		specs[i] = n.specOf(id)
	}
	recorded, err := record(specs, shares, fork)
	if err != nil {
		_ = t.applyInput(n.ctx, withdrawInput{ids}, false) // it cannot be refused
		return nil, err
	}
	t.manager.registerOperations(t, ids)
	_ = t.applyInput(n.ctx, recordedInput{t.currentTime(), recorded}, false) // it cannot be refused
	return ids, nil
}

// completeSpec fills in what a spec leaves open.
func (n *Node) completeSpec(spec *OperationSpec) (err error) {
	if spec.ID == "" {
		if spec.ID, err = n.tree.manager.config.NewID(); err != nil {
			return err
		}
	}
	if spec.Kind == "" {
		spec.Kind = SubAgent
	}
	if spec.ResultShape == "" {
		spec.ResultShape = SingleResult
	}
	depends := make([]OperationID, len(spec.DependsOn))
	for i, name := range spec.DependsOn {
		depends[i] = name
		if o, err := n.resolveName(string(name)); err == nil {
			depends[i] = o.spec.ID
		}
	}
	if len(depends) > 0 {
		spec.DependsOn = depends
	}
	return nil
}

func (t *tree) currentTime() time.Time { return t.manager.config.Now() }

func (n *Node) resolveName(name string) (*operationState, error) {
	n.tree.mu.Lock()
	defer n.tree.mu.Unlock()
	return n.tree.state.resolveName(n.id, name)
}

func (n *Node) specOf(id OperationID) OperationSpec {
	n.tree.mu.Lock()
	defer n.tree.mu.Unlock()
	return n.tree.state.findOperation(id).spec
}

// freeChildren returns how many more operations the agent may start now.
func (n *Node) freeChildren() int {
	n.tree.mu.Lock()
	defer n.tree.mu.Unlock()
	s := &n.tree.state
	return max(1, s.limits.MaxChildrenPerAgent-s.openCount(func(o *operationState) bool { return o.parent == n.id }))
}

// Restored is an operation that an earlier run of the session submitted.
type Restored struct {
	Spec      OperationSpec
	Submitted time.Time
	// Result is set when the operation has ended for good; nil runs it again.
	Result    *OpResult
	Delivered bool
}

// Restore takes over the operations of earlier runs of the session, in the order of
// submission. Those that had not ended go on.
func (n *Node) Restore(all []Restored) error {
	t := n.tree
	for _, r := range all {
		if r.Result != nil {
			// it cannot be refused
			_ = t.applyInput(n.ctx, restoreInput{n.id, r.Spec, r.Submitted, *r.Result, r.Delivered}, false)
			continue
		}
		t.manager.registerOperations(t, []OperationID{r.Spec.ID})
		if err := t.applyInput(
			n.ctx, submitInput{at: r.Submitted, agent: n.id, specs: []OperationSpec{r.Spec}, restored: true}, false,
		); err != nil {
			return err
		}
	}
	return nil
}

// resolveAll returns the operations of the agent that names mean; without names, all
// that fit.
func (n *Node) resolveAll(names []string, fits func(*operationState) bool) (ids []OperationID, err error) {
	if len(names) == 0 {
		n.tree.mu.Lock()
		defer n.tree.mu.Unlock()
		for _, o := range n.tree.state.childrenOf(n.id) {
			if fits(o) {
				ids = append(ids, o.spec.ID)
			}
		}
		return ids, nil
	}
	for _, name := range names {
		o, err := n.resolveName(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, o.spec.ID) {
			ids = append(ids, o.spec.ID)
		}
	}
	return ids, nil
}

// awaitOperations returns when the operations have come to what mode waits for, or ctx has ended,
// and passes on what happens meanwhile.
func (n *Node) awaitOperations(ctx context.Context, ids []OperationID, mode AwaitMode,
	report func([]OpEvent)) (done bool) {
	for {
		n.tree.mu.Lock()
		events := n.tree.takeEvents(n.id)
		done, changed := n.tree.state.isAwaited(ids, mode), n.tree.changed
		n.tree.mu.Unlock()
		if len(events) > 0 {
			report(events)
		}
		if done {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// describeAll returns what is known of operations.
func (n *Node) describeAll(ids []OperationID) []Status {
	n.tree.mu.Lock()
	defer n.tree.mu.Unlock()
	all := make([]Status, len(ids))
	for i, id := range ids {
		all[i] = n.tree.state.findOperation(id).describeStatus(n.tree.state.queuedDirectives(id))
	}
	return all
}

// Claim returns the results that the result of a tool call holds, and forgets them. They
// count as delivered when that result is stored.
func (n *Node) Claim(callID string) []OpResult {
	claimed, ok := n.claims.LoadAndDelete(callID)
	if !ok {
		return nil
	}
	return claimed.([]OpResult) //nolint:forcetypeassert // nothing else is stored
}
