package ops

import (
	"context"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// The defaults of Config.
const (
	DefaultEventBuffer   = 128
	DefaultSteeringDepth = 16
)

// Config is what a Manager needs. Run, Now and NewID must be set.
type Config struct {
	Limits    ConcurrencyLimits
	Injection InjectionPolicy // empty: CompletionOrder
	// ForkBudget divides what is left of a budget among the branches of a fork. Nil: each
	// branch and the agent itself get an equal share.
	ForkBudget *session.ForkBudgetPolicy
	// SteeringDepth is how many directives wait for an agent; 0: DefaultSteeringDepth.
	SteeringDepth    int
	SteeringOverflow SteeringOverflow
	// EventBuffer is how many events of its operations an agent may be behind before
	// they wait for it; 0: DefaultEventBuffer.
	EventBuffer int
	// Run does the work of an operation and returns what came of it, also when ctx ends.
	// It must not return before the work has ended.
	Run   func(ctx context.Context, task Task) Outcome
	Now   func() time.Time
	NewID func() (session.ID, error)
}

// Task is an operation that is to be run.
type Task struct {
	Spec   OperationSpec
	Parent session.ID
	// Report tells the parent how far the work is. It may be called from any goroutine
	// until Run returns, and waits while the parent is behind.
	Report func(message string, percent *float64)
}

// Outcome is what came of an operation.
type Outcome struct {
	Status OpStatus // final
	Text   string
	Error  string
	// Artifact, Size and Summary replace a Text that is too large.
	Artifact string
	Size     int
	Summary  string
	Spent    session.Spent
	// Attempt counts the runs of its session; 0: this one only.
	Attempt int
}

// Manager runs operations for any number of agents. The operations of an agent, and
// those that they start in turn, are one tree with common limits. It is safe for
// concurrent use.
type Manager struct {
	config Config

	mu    sync.Mutex
	trees map[session.ID]*tree // by each agent that takes part
}

// NewManager returns a Manager.
func NewManager(c Config) *Manager {
	c.Limits = c.Limits.withDefaults()
	if c.Injection == "" {
		c.Injection = CompletionOrder
	}
	if c.SteeringDepth == 0 {
		c.SteeringDepth = DefaultSteeringDepth
	}
	if c.EventBuffer == 0 {
		c.EventBuffer = DefaultEventBuffer
	}
	return &Manager{config: c, trees: map[session.ID]*tree{}}
}

// Place is where an agent stands: its session, and what that says of its parent.
type Place struct {
	ID      session.ID
	Depth   int
	NoSpawn bool
}

// Join begins the run of an agent: as the operation that it is, or as the root of a tree
// of its own. The caller ends it with [Node.Leave].
func (m *Manager) Join(ctx context.Context, p Place) *Node {
	m.mu.Lock()
	t, isChild := m.trees[p.ID]
	if !isChild {
		c := &m.config
		t = &tree{
			manager: m, changed: make(chan struct{}),
			cancels: map[OperationID]context.CancelCauseFunc{}, inboxes: map[session.ID]*inbox{},
			work: map[session.ID]*sync.WaitGroup{}, ctxs: map[session.ID]context.Context{},
			state: state{
				limits: c.Limits, injection: c.Injection, steeringDepth: c.SteeringDepth, overflow: c.SteeringOverflow,
			},
		}
		m.trees[p.ID] = t
	}
	m.mu.Unlock()
	t.mu.Lock()
	t.inboxes[p.ID] = &inbox{room: make(chan struct{})}
	t.work[p.ID], t.ctxs[p.ID] = new(sync.WaitGroup), ctx
	t.mu.Unlock()
	_ = t.applyInput(ctx, joinInput{p.ID, p.Depth, p.NoSpawn}, false) // it cannot be refused
	return &Node{tree: t, id: p.ID, isRoot: !isChild, ctx: ctx}
}

// findTree returns the tree of a live agent or operation, nil if there is none.
func (m *Manager) findTree(id session.ID) *tree {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.trees[id]
}

func (m *Manager) registerOperations(t *tree, ids []OperationID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		m.trees[id] = t
	}
}

func (m *Manager) forgetTree(t *tree) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, other := range m.trees {
		if other == t {
			delete(m.trees, id)
		}
	}
}

// Steer queues a directive for an agent that runs now: a sub-agent, or the root of a
// tree. It is applied before the agent's next model call. Errors are *SteerError.
func (m *Manager) Steer(id session.ID, message string) (*SteeringHandle, error) {
	t := m.findTree(id)
	if t == nil {
		return nil, &SteerError{id, "it is not running and takes no directives"}
	}
	return t.queueDirective(id, message)
}

// Cancel asks an operation that has not ended to end, with all that it has started. It
// does not wait. An operation that is not known here, or has ended, is an error.
func (m *Manager) Cancel(id OperationID) error {
	t := m.findTree(id)
	if t == nil {
		return &UnknownOperationError{Name: string(id), Hint: "; it is not running here"}
	}
	t.mu.Lock()
	o := t.state.findOperation(id)
	t.mu.Unlock()
	if o == nil {
		return &UnknownOperationError{Name: string(id), Hint: "; it is not an operation"}
	}
	if o.status.IsFinal() {
		return &EndedError{id, o.status}
	}
	return t.applyInput(context.Background(), cancelInput{t.manager.config.Now(), []OperationID{id}}, false)
}

// Operations returns the live operations of the tree that an agent belongs to, in the
// order of submission; nil when the agent does not run now.
func (m *Manager) Operations(agent session.ID) []Status {
	t := m.findTree(agent)
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []Status
	for _, o := range t.state.operations {
		all = append(all, o.describeStatus(t.state.queuedDirectives(o.spec.ID)))
	}
	return all
}

// Status is a view of one operation.
type Status struct {
	OpResult
	Parent session.ID
	Spec   OperationSpec
	// Progress is the last report of a running operation.
	Progress string
	Percent  *float64
	// Queued are the directives that wait for its next turn.
	Queued []Directive
	// Delivered says that the model of the parent has the result.
	Delivered bool
}

func (o *operationState) describeStatus(queued []Directive) Status {
	return Status{
		OpResult: o.resultOf(), Parent: o.parent, Spec: o.spec, Progress: o.progress, Percent: o.percent,
		Queued: queued, Delivered: o.delivered,
	}
}
