package session

import (
	"time"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// OperationState is what an Operation record says: that the operation exists, or that it
// has ended.
type OperationState string

// The states that have a record of their own. The start of a sub-agent is the header of
// its session. That the model has received a result is said by the record that carries
// it, see MessageRecord and Tool.
const (
	OperationSubmitted OperationState = "submitted"
	OperationEnded     OperationState = "ended"
)

// Operation is one step in the life of an operation that the session has started: a
// sub-agent, whose session has the same id. Submitted must be durable before the
// sub-agent starts.
type Operation struct {
	At    time.Time      `json:"at"`
	ID    ID             `json:"id"`
	State OperationState `json:"state"`
	// Label is the name that the model gave it, "" if none.
	Label string `json:"label,omitempty"`
	// Reserved is what the budget of the session sets aside for it.
	Reserved *Limits `json:"reserved,omitempty"`
	// Spec is the rest of what was submitted, in the form of package ops.
	Spec transcript.RawJSON `json:"spec,omitempty"`
	// End is how it ended.
	End *OperationEnd `json:"end,omitempty"`
}

// OperationEnd is how an operation ended.
type OperationEnd struct {
	// Status is "completed", "failed", "cancelled" or "interrupted".
	Status    string    `json:"status"`
	StartedAt time.Time `json:"started_at,omitzero"` // zero if it never started
	EndedAt   time.Time `json:"ended_at,omitzero"`
	// Attempt counts the runs of its session from 1, 0 if it never started.
	Attempt int `json:"attempt,omitempty"`
	// Spent is what it used, with what it started itself. Elapsed has passed on the clock
	// of the parent as well.
	Spent Spent  `json:"spent"`
	Error string `json:"error,omitempty"`
	// Artifact holds a result that is too large for the conversation, Size its bytes.
	Artifact string `json:"artifact,omitempty"`
	Size     int    `json:"size,omitempty"`
}

// Parent is what the session of a sub-agent says of the one that started it.
type Parent struct {
	ID ID `json:"id"`
	// Depth counts the sessions above it: 1 for a sub-agent of a session that a user
	// started.
	Depth int    `json:"depth"`
	Label string `json:"label,omitempty"`
	// ToolAccess says which tools it may call, in the form of tool.AccessPolicy.
	ToolAccess transcript.RawJSON `json:"tool_access,omitempty"`
	// NoSpawn is set when it must not start sub-agents of its own.
	NoSpawn bool `json:"no_spawn,omitempty"`
}

// Source says who wrote a message that has the role of the user; "" is the user.
type Source string

// The other writers.
const (
	SourceOperations Source = "operations" // results of operations
	SourceSteering   Source = "steering"   // directives of a parent agent or a program
)

// OperationInfo is what the records of a session say of one operation.
type OperationInfo struct {
	Operation
	// Delivered is set when the model has received the result.
	Delivered bool
}

// Operations returns the operations of the session in the order of submission.
func (s *Session) Operations() []OperationInfo {
	var all []OperationInfo
	at := map[ID]int{}
	for _, r := range s.operations {
		i, known := at[r.ID]
		switch {
		case !known && r.State == OperationSubmitted:
			at[r.ID] = len(all)
			all = append(all, OperationInfo{Operation: r})
		case known && r.State == OperationEnded:
			all[i].End = r.End
		case known && r.State == operationDelivered:
			all[i].Delivered = true
		}
	}
	return all
}

// HasOpenOperations reports whether the model still waits for the result of an operation.
func (s *Session) HasOpenOperations() bool {
	for _, o := range s.Operations() {
		if !o.Delivered {
			return true
		}
	}
	return false
}

// Pool returns the budget of the session: limits, what it has used itself and by ended
// operations, and what is set aside for the others.
func (s *Session) Pool(limits Limits, used Spent) BudgetPool {
	pool := NewBudgetPool(limits, used)
	for _, o := range s.Operations() {
		if o.Reserved == nil {
			continue
		}
		if o.End != nil {
			own := o.End.Spent
			own.Elapsed = 0 // it has passed on the clock of the session
			pool = pool.Spend(own)
			continue
		}
		if pool.reserved == nil {
			pool.reserved = map[string]Limits{}
		}
		pool.reserved[string(o.ID)] = *o.Reserved
	}
	return pool
}

// withValidUTF8 returns o as it can be stored.
func (o Operation) withValidUTF8() Operation {
	o.Label = toValidUTF8(o.Label)
	if o.End != nil {
		end := *o.End
		end.Error = toValidUTF8(end.Error)
		o.End = &end
	}
	return o
}

// operationDelivered marks, in memory only, that a message or result was delivered.
const operationDelivered OperationState = "delivered"

// foldDelivered notes that the model has received the results of operations.
func (s *Session) foldDelivered(ids []ID) {
	for _, id := range ids {
		s.operations = append(s.operations, Operation{ID: id, State: operationDelivered})
	}
}
