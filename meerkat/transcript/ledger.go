package transcript

import (
	"fmt"
	"slices"
	"sync"
)

// CallStatus is where a tool call stands.
type CallStatus string

// The life of a tool call. The last four are final.
const (
	CallProposed    CallStatus = "proposed"    // the model asked for it
	CallRunning     CallStatus = "running"     // recorded before the tool starts
	CallComplete    CallStatus = "complete"    // the tool returned a result
	CallError       CallStatus = "error"       // the tool, or a check before it, returned an error
	CallCancelled   CallStatus = "cancelled"   // it did not run and never will
	CallInterrupted CallStatus = "interrupted" // it may or may not have had effects
)

// Final reports whether s never changes again.
func (s CallStatus) Final() bool { return s.finality() == finalState }

const finalState = 2

// finality orders the statuses; -1 is not a status.
func (s CallStatus) finality() int {
	switch s {
	case CallProposed:
		return 0
	case CallRunning:
		return 1
	case CallComplete, CallError, CallCancelled, CallInterrupted:
		return finalState
	}
	return -1
}

// CallRecord is the state of one call: one line of a [Ledger].
type CallRecord struct {
	// Message is the index of the assistant message that makes the call. Call
	// ids may repeat over the turns of a conversation.
	Message int        `json:"message"`
	CallID  string     `json:"call_id"`
	Name    string     `json:"name"`
	Status  CallStatus `json:"status"`
	// Result is the answer of a call that has ended, nil when there is none.
	// It is read-only.
	Result *ToolResult `json:"result,omitempty"`
}

// ContradictionError says that a record contradicts what the ledger already
// holds.
type ContradictionError struct{ Have, Want CallRecord }

// Error names the call and both states.
func (e *ContradictionError) Error() string {
	return fmt.Sprintf("tool call %q of message %d: it is %s already and cannot become %s",
		e.Want.CallID, e.Want.Message, e.Have.Status, e.Want.Status)
}

// callKey tells calls apart.
type callKey struct {
	message int
	id      string
}

func (e CallRecord) callKey() callKey { return callKey{e.Message, e.CallID} }

// Ledger is a value: With returns a new one and the old one stays as it was.
// The values share one log, so that growing costs the same at any length. The
// zero value is empty. A Ledger is safe for concurrent use.
type Ledger struct {
	shared *ledgerLog
	n      int          // how much of the log is this value's
	open   []CallRecord // in order of proposal; never changed in place
}

// ledgerLog is what the values grown from one another share.
type ledgerLog struct {
	mu      sync.Mutex
	entries []CallRecord
	at      map[callKey][]int // positions in entries, ascending
}

// NewLedger returns a Ledger of entries; they must follow the rules of With.
func NewLedger(entries ...CallRecord) (Ledger, error) {
	var l Ledger
	for _, e := range entries {
		var err error
		if l, err = l.With(e); err != nil {
			return l, err
		}
	}
	return l, nil
}

// With returns l with e added. What it knows already changes nothing, so that
// a record may be applied twice; a status may only move on, from proposed to
// running to one of the ends, and an end never changes, except that it may
// still learn its Result. Anything else is a *ContradictionError.
func (l Ledger) With(e CallRecord) (Ledger, error) {
	if e.Status.finality() < 0 {
		return l, fmt.Errorf("tool call %q of message %d: %q is not a status of a call", e.CallID, e.Message, e.Status)
	}
	have, known := l.Lookup(e.Message, e.CallID)
	if known {
		switch next, err := have.advance(e); {
		case err != nil:
			return l, err
		case next == have:
			return l, nil
		default:
			e = next
		}
	}
	l.appendRecord(e)
	l.trackOpen(e, known)
	return l, nil
}

// advance returns the record after next, e itself if next says nothing new.
func (e CallRecord) advance(next CallRecord) (CallRecord, error) {
	if next.Name != "" && e.Name != "" && next.Name != e.Name {
		return e, &ContradictionError{e, next}
	}
	if next.Name == "" {
		next.Name = e.Name
	}
	switch {
	case next.Status.finality() > e.Status.finality():
		return next, nil
	case next.Status != e.Status:
		return e, &ContradictionError{e, next}
	case e.Result == nil && next.Result != nil && e.Status.Final():
		return next, nil
	}
	return e, nil
}

// appendRecord puts e behind the part of the log that is l's, which it copies if
// another value has grown there.
func (l *Ledger) appendRecord(e CallRecord) {
	if l.shared == nil {
		l.shared = &ledgerLog{at: map[callKey][]int{}}
	}
	l.shared.mu.Lock()
	if len(l.shared.entries) == l.n {
		l.shared.addRecord(e)
		l.shared.mu.Unlock()
	} else {
		mine := slices.Clip(l.shared.entries[:l.n])
		l.shared.mu.Unlock()
		l.shared = &ledgerLog{at: map[callKey][]int{}}
		for _, old := range mine {
			l.shared.addRecord(old)
		}
		l.shared.addRecord(e)
	}
	l.n++
}

func (g *ledgerLog) addRecord(e CallRecord) {
	g.at[e.callKey()] = append(g.at[e.callKey()], len(g.entries))
	g.entries = append(g.entries, e)
}

// trackOpen keeps the list of open calls up to date.
func (l *Ledger) trackOpen(e CallRecord, known bool) {
	i := -1
	if known {
		i = slices.IndexFunc(l.open, func(o CallRecord) bool { return o.callKey() == e.callKey() })
	}
	switch {
	case e.Status.Final() && i >= 0:
		l.open = slices.Delete(slices.Clone(l.open), i, i+1)
	case e.Status.Final():
	case i >= 0:
		l.open = slices.Clone(l.open)
		l.open[i] = e
	default:
		l.open = append(slices.Clip(l.open), e)
	}
}

// Lookup returns what is known of a call.
func (l Ledger) Lookup(message int, callID string) (CallRecord, bool) {
	if l.shared == nil {
		return CallRecord{}, false
	}
	l.shared.mu.Lock()
	defer l.shared.mu.Unlock()
	for _, at := range slices.Backward(l.shared.at[callKey{message, callID}]) {
		if at < l.n {
			return l.shared.entries[at], true
		}
	}
	return CallRecord{}, false
}

// Open returns the calls that have not ended, in the order they were proposed.
// Treat it as read-only.
func (l Ledger) Open() []CallRecord { return l.open }

// Entries returns the log: every change of every call in order. Treat it as
// read-only.
func (l Ledger) Entries() []CallRecord {
	if l.shared == nil {
		return nil
	}
	l.shared.mu.Lock()
	defer l.shared.mu.Unlock()
	return slices.Clip(l.shared.entries[:l.n])
}

// Equal reports whether both know the same, change by change.
func (l Ledger) Equal(other Ledger) bool {
	return slices.EqualFunc(l.Entries(), other.Entries(), func(a, b CallRecord) bool {
		x, y := a, b
		x.Result, y.Result = nil, nil
		return x == y && sameResult(a.Result, b.Result)
	})
}

func sameResult(a, b *ToolResult) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, errA := a.AppendJSON(nil)
	y, errB := b.AppendJSON(nil)
	return errA == nil && errB == nil && string(x) == string(y)
}
