package ops

import (
	"encoding/json"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
)

// OperationID names an operation. For a sub-agent it is the id of its session.
type OperationID = session.ID

// WorkKind is what an operation does.
type WorkKind string

// The kinds of work. The tool calls of a turn are kept in the ledger of the session; a
// Manager runs those that outlive the turn. No tool of this package starts a
// ShellCommand: programs run as tools of the agent.
const (
	ToolCall     WorkKind = "tool_call"
	ShellCommand WorkKind = "shell_command"
	SubAgent     WorkKind = "sub_agent"
)

// ResultShape is what an operation returns.
type ResultShape string

// The shapes of results.
const (
	SingleResult ResultShape = "single"
	StreamResult ResultShape = "stream" // progress on the way
	BatchResult  ResultShape = "batch"  // one branch of several, as in a fork
)

// DependencyFailurePolicy says what becomes of an operation when one that it depends on
// does not complete.
type DependencyFailurePolicy string

// The policies. The zero value is FailDependents.
const (
	FailDependents   DependencyFailurePolicy = "fail_dependents"
	CancelDependents DependencyFailurePolicy = "cancel_dependents"
)

// OperationPolicy is how an operation behaves beside what it does.
type OperationPolicy struct {
	// OnDependencyFailure is FailDependents when it is empty.
	OnDependencyFailure DependencyFailurePolicy `json:"on_dependency_failure,omitempty"`
	// Timeout cancels the operation that long after its start; 0: never.
	Timeout time.Duration `json:"timeout_ns,omitempty"`
}

// OperationSpec is everything about an operation that is known before it starts.
type OperationSpec struct {
	// ID must be new. A Manager fills it in when it is empty.
	ID   OperationID `json:"-"`
	Kind WorkKind    `json:"kind"` // empty: SubAgent
	// Label is a name that its parent may use in place of the id, unique among the
	// operations of that parent; "" for none.
	Label       string          `json:"-"`
	ResultShape ResultShape     `json:"result_shape,omitempty"` // empty: SingleResult
	Policy      OperationPolicy `json:"policy,omitzero"`
	// BudgetReservation is set aside in the budget of the parent until the operation ends.
	BudgetReservation session.Limits `json:"-"`
	// Depth counts the agents above, 1 for an operation of a session that a user
	// started. A Manager sets it.
	Depth int `json:"depth"`
	// DependsOn are operations of the same parent that must complete first.
	DependsOn []OperationID `json:"depends_on,omitempty"`
	// The rest but the last two is of sub-agents. Prompt is what it is asked, Model "" for that of its
	// parent.
	Prompt string `json:"prompt,omitempty"`
	Model  string `json:"model,omitempty"`
	// Fork is set when it begins with the conversation of its parent, which had ForkAt
	// messages when it was submitted.
	Fork   bool `json:"fork,omitempty"`
	ForkAt int  `json:"fork_at,omitempty"`
	// Context is what else of the conversation of its parent it begins with; nil: nothing.
	Context    *session.ContextStrategy `json:"context,omitempty"`
	ToolAccess tool.AccessPolicy        `json:"tool_access"`
	// NoSpawn keeps a sub-agent from starting sub-agents of its own.
	NoSpawn bool `json:"no_spawn,omitempty"`
	// Tool and Arguments are what a ToolCall calls.
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// OpStatus is where an operation stands.
type OpStatus string

// The statuses, in the order of a life. The last four are final.
const (
	Pending     OpStatus = "pending" // waits for what it depends on
	Running     OpStatus = "running"
	Completed   OpStatus = "completed"
	Failed      OpStatus = "failed"
	Cancelled   OpStatus = "cancelled"
	Interrupted OpStatus = "interrupted" // the process was stopped; its effects are unknown
)

// IsFinal reports whether the operation has ended.
func (s OpStatus) IsFinal() bool { return s != Pending && s != Running }

// OpEvent is one thing that happened to an operation. Type says which fields count.
type OpEvent struct {
	Type OpEventType `json:"type"`
	ID   OperationID `json:"id"`
	// Label is that of its spec.
	Label string `json:"label,omitempty"`
	// Kind is that of a start.
	Kind WorkKind `json:"kind,omitempty"`
	// Message and Percent are of progress; Percent is nil if it is not known.
	Message string   `json:"message,omitempty"`
	Percent *float64 `json:"percent,omitempty"`
	// Result is that of a completed operation, cut to the first kilobyte; Error that of
	// a failed one.
	Result string `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
	// SteeringID is the directive that was applied.
	SteeringID string `json:"steering_id,omitempty"`
}

// OpEventType names an OpEvent.
type OpEventType string

// The events of an operation.
const (
	EventStarted         OpEventType = "started"
	EventProgress        OpEventType = "progress"
	EventCompleted       OpEventType = "completed"
	EventFailed          OpEventType = "failed"
	EventCancelled       OpEventType = "cancelled"
	EventInterrupted     OpEventType = "interrupted"
	EventSteeringApplied OpEventType = "steering_applied"
)

// isEnd reports whether an operation has ended with the event.
func (t OpEventType) isEnd() bool {
	return t == EventCompleted || t == EventFailed || t == EventCancelled || t == EventInterrupted
}

// OpCausality says where a result comes from. It goes along with the result.
type OpCausality struct {
	OpID OperationID `json:"op_id"`
	// ParentOpID is the operation that submitted it, "" for the session of a user.
	ParentOpID  OperationID   `json:"parent_op_id,omitempty"`
	SubmittedAt time.Time     `json:"submitted_at"`
	StartedAt   time.Time     `json:"started_at,omitzero"` // zero if it never started
	CompletedAt time.Time     `json:"completed_at"`
	DependsOn   []OperationID `json:"depends_on,omitempty"`
	Attempt     int           `json:"attempt"` // how often it was started
	Status      OpStatus      `json:"status"`
}

// OpResult is what an operation came to.
type OpResult struct {
	Label string
	// Text is the result, "" when Artifact holds it. Error says why there is none.
	Text  string
	Error string
	// Artifact names where a large result is kept, Size its bytes and Summary its
	// beginning.
	Artifact string
	Size     int
	Summary  string
	Spent    session.Spent
	OpCausality
}

// ConcurrencyLimits bound a tree of operations. Operations count until they have ended,
// also while they wait for others, so that whatever was accepted can always run.
type ConcurrencyLimits struct {
	// MaxDepth is how many agents may be above one another, without the first; -1: none,
	// no sub-agent can be submitted.
	MaxDepth int
	// MaxConcurrentOps counts the operations of the whole tree.
	MaxConcurrentOps int
	// MaxConcurrentAgents counts the sub-agents of the whole tree.
	MaxConcurrentAgents int
	// MaxChildrenPerAgent counts the operations of one agent.
	MaxChildrenPerAgent int
}

// DefaultLimits are the limits that a zero field stands for.
func DefaultLimits() ConcurrencyLimits {
	return ConcurrencyLimits{MaxDepth: 3, MaxConcurrentOps: 32, MaxConcurrentAgents: 8, MaxChildrenPerAgent: 5}
}

// withDefaults returns l with the defaults in place of zeros.
func (l ConcurrencyLimits) withDefaults() ConcurrencyLimits {
	d := DefaultLimits()
	for _, f := range []struct {
		field *int
		value int
	}{
		{&l.MaxDepth, d.MaxDepth}, {&l.MaxConcurrentOps, d.MaxConcurrentOps},
		{&l.MaxConcurrentAgents, d.MaxConcurrentAgents}, {&l.MaxChildrenPerAgent, d.MaxChildrenPerAgent},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	return l
}

// InjectionPolicy says in which order results enter the conversation.
type InjectionPolicy string

// The policies. The zero value is CompletionOrder.
const (
	CompletionOrder InjectionPolicy = "completion_order" // as soon as there is a legal place
	SubmissionOrder InjectionPolicy = "submission_order" // none before those submitted earlier
	BatchAfterAll   InjectionPolicy = "batch_after_all"  // all together when the last one has ended
)

// AwaitMode says what to wait for.
type AwaitMode string

// The modes. The zero value is AwaitAll.
const (
	AwaitAll          AwaitMode = "all"           // until all have ended
	AwaitAny          AwaitMode = "any"           // until one has ended
	AwaitFirstSuccess AwaitMode = "first_success" // until one has completed, or all have ended
)

// SteeringStatus is what has become of a directive.
type SteeringStatus string

// The statuses of a directive.
const (
	SteeringQueued  SteeringStatus = "queued"  // it waits for the next turn
	SteeringApplied SteeringStatus = "applied" // it is in the conversation
	SteeringExpired SteeringStatus = "expired" // the agent completed first, or newer directives took its place
	SteeringFailed  SteeringStatus = "failed"  // the agent failed, or was cancelled
)

// SteeringOverflow says what happens to a directive that finds the queue full.
type SteeringOverflow string

// The choices. The zero value is DropOldest.
const (
	DropOldest SteeringOverflow = "drop_oldest" // the oldest directive expires
	RefuseNew  SteeringOverflow = "refuse"      // the new one is an error
)

// Directive is a message that steers an agent, in the order of Seq.
type Directive struct {
	ID  string `json:"id"`
	Seq uint64 `json:"seq"` // of the agent, from 1
	// Text is the message without its prefix.
	Text   string         `json:"text"`
	Status SteeringStatus `json:"status"`
}
