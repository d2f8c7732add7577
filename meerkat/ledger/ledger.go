package ledger

import (
	"fmt"
	"slices"
	"sync"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Status is where a tool call stands.
type Status string

// The life of a tool call. The last four are final.
const (
	Proposed    Status = "proposed"    // the model asked for it
	Running     Status = "running"     // recorded before the tool starts
	Complete    Status = "complete"    // the tool returned a result
	Error       Status = "error"       // the tool, or a check before it, returned an error
	Cancelled   Status = "cancelled"   // it did not run and never will
	Interrupted Status = "interrupted" // it may or may not have had effects
)

// Final reports whether s never changes again.
func (s Status) Final() bool { return s.rank() == finalRank }

const finalRank = 2

// rank orders the statuses; -1 is no status.
func (s Status) rank() int {
	switch s {
	case Proposed:
		return 0
	case Running:
		return 1
	case Complete, Error, Cancelled, Interrupted:
		return finalRank
	}
	return -1
}

// Entry is one line of the log: the state of one call.
type Entry struct {
	// Message is the index of the assistant message that makes the call. Call
	// ids may repeat over the turns of a conversation (D19).
	Message int    `json:"message"`
	CallID  string `json:"call_id"`
	Name    string `json:"name"`
	Status  Status `json:"status"`
	// Result is the answer of a call that has ended, nil when there is none.
	// It is read-only.
	Result *transcript.ToolResult `json:"result,omitempty"`
}

// ContradictionError says that an entry does not fit what the ledger knows.
type ContradictionError struct{ Have, Want Entry }

// Error names the call and both states.
func (e *ContradictionError) Error() string {
	return fmt.Sprintf("tool call %q of message %d: it is %s already and cannot become %s",
		e.Want.CallID, e.Want.Message, e.Have.Status, e.Want.Status)
}

// key tells calls apart.
type key struct {
	message int
	id      string
}

func (e Entry) key() key { return key{e.Message, e.CallID} }

// Ledger is a value: With returns a new one and the old one stays as it was.
// The values share one log, so that growing costs the same at any length. The
// zero value is empty. A Ledger is safe for concurrent use.
type Ledger struct {
	log  *log
	n    int     // how much of the log is this value's
	open []Entry // in order of proposal; never changed in place
}

// log is what the values grown from one another share.
type log struct {
	mu      sync.Mutex
	entries []Entry
	at      map[key][]int // positions in entries, ascending
}

// New returns a Ledger of entries; they must follow the rules of With.
func New(entries ...Entry) (Ledger, error) {
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
func (l Ledger) With(e Entry) (Ledger, error) {
	if e.Status.rank() < 0 {
		return l, fmt.Errorf("tool call %q of message %d: %q is no status of a call", e.CallID, e.Message, e.Status)
	}
	have, known := l.Lookup(e.Message, e.CallID)
	if known {
		switch next, err := have.then(e); {
		case err != nil:
			return l, err
		case next == have:
			return l, nil
		default:
			e = next
		}
	}
	l.append(e)
	l.track(e, known)
	return l, nil
}

// then returns what e makes of have, have itself if e says nothing new.
func (e Entry) then(next Entry) (Entry, error) {
	if next.Name != "" && e.Name != "" && next.Name != e.Name {
		return e, &ContradictionError{e, next}
	}
	if next.Name == "" {
		next.Name = e.Name
	}
	switch {
	case next.Status.rank() > e.Status.rank():
		return next, nil
	case next.Status != e.Status:
		return e, &ContradictionError{e, next}
	case e.Result == nil && next.Result != nil && e.Status.Final():
		return next, nil
	}
	return e, nil
}

// append puts e behind the part of the log that is l's, which it copies if
// another value has grown there.
func (l *Ledger) append(e Entry) {
	if l.log == nil {
		l.log = &log{at: map[key][]int{}}
	}
	l.log.mu.Lock()
	if len(l.log.entries) == l.n {
		l.log.add(e)
		l.log.mu.Unlock()
	} else {
		mine := slices.Clip(l.log.entries[:l.n])
		l.log.mu.Unlock()
		l.log = &log{at: map[key][]int{}}
		for _, old := range mine {
			l.log.add(old)
		}
		l.log.add(e)
	}
	l.n++
}

func (g *log) add(e Entry) {
	g.at[e.key()] = append(g.at[e.key()], len(g.entries))
	g.entries = append(g.entries, e)
}

// track keeps the open calls.
func (l *Ledger) track(e Entry, known bool) {
	i := -1
	if known {
		i = slices.IndexFunc(l.open, func(o Entry) bool { return o.key() == e.key() })
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
func (l Ledger) Lookup(message int, callID string) (Entry, bool) {
	if l.log == nil {
		return Entry{}, false
	}
	l.log.mu.Lock()
	defer l.log.mu.Unlock()
	for _, at := range slices.Backward(l.log.at[key{message, callID}]) {
		if at < l.n {
			return l.log.entries[at], true
		}
	}
	return Entry{}, false
}

// Open returns the calls that have not ended, in the order they were proposed.
// Treat it as read-only.
func (l Ledger) Open() []Entry { return l.open }

// Entries returns the log: every change of every call in order. Treat it as
// read-only.
func (l Ledger) Entries() []Entry {
	if l.log == nil {
		return nil
	}
	l.log.mu.Lock()
	defer l.log.mu.Unlock()
	return slices.Clip(l.log.entries[:l.n])
}

// Equal reports whether both know the same, change by change.
func (l Ledger) Equal(other Ledger) bool {
	return slices.EqualFunc(l.Entries(), other.Entries(), func(a, b Entry) bool {
		x, y := a, b
		x.Result, y.Result = nil, nil
		return x == y && sameResult(a.Result, b.Result)
	})
}

func sameResult(a, b *transcript.ToolResult) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, errA := a.AppendJSON(nil)
	y, errB := b.AppendJSON(nil)
	return errA == nil && errB == nil && string(x) == string(y)
}
