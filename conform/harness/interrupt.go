package harness

import (
	"slices"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/specs"
)

// How long an agent gets before its prompt is called off: to read what was sent
// before the provider fell silent, and to start the tool that was called.
const (
	silencePause = 300 * time.Millisecond
	callPause    = time.Second
	// pauseTick divides a pause into many short ones, which one after the other take longer
	// where processes have to wait for a processor: the agent has to wait there, too.
	pauseTick = 10 * time.Millisecond
)

// interruption decides when the prompt of a step is called off. The zero value calls
// nothing off. It is safe for concurrent use.
type interruption struct {
	mu     sync.Mutex
	signal chan struct{} // nil: the step runs to its end
	timer  *time.Timer   // set by the first turn that leaves the agent waiting
	closed bool
}

// armStep returns the channel that is closed when the prompt that begins now is to be
// called off.
func (i *interruption) armStep() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.signal, i.timer, i.closed = make(chan struct{}), nil, false
	return i.signal
}

// disarmStep ends the step and reports whether it was called off.
func (i *interruption) disarmStep() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.timer != nil {
		i.timer.Stop()
	}
	i.signal = nil
	return i.closed
}

// noteSent takes a turn that the provider has sent.
func (i *interruption) noteSent(turn specs.Turn) {
	pause, waits := pauseAfter(turn)
	i.mu.Lock()
	defer i.mu.Unlock()
	if signal := i.signal; waits && signal != nil && i.timer == nil {
		i.callOffAfter(pause, signal)
	}
}

// callOffAfter closes the channel of the step that it was armed for, when the rest of its
// pause is over. The caller holds mu.
func (i *interruption) callOffAfter(rest time.Duration, signal chan struct{}) {
	i.timer = time.AfterFunc(pauseTick, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		switch {
		case i.signal != signal || i.closed:
		case rest > pauseTick:
			i.callOffAfter(rest-pauseTick, signal)
		default:
			i.closed = true
			close(signal)
		}
	})
}

// pauseAfter returns how long after a turn its prompt is called off; false for a turn
// that does not leave the agent waiting, for the provider or for the slow tool.
func pauseAfter(turn specs.Turn) (time.Duration, bool) {
	slow := func(b specs.Block) bool { return b.Kind == specs.KindCall && b.Role == "slow" }
	switch {
	case turn.Stall != nil:
		return silencePause, true
	case slices.ContainsFunc(turn.Emit, slow):
		return callPause, true
	}
	return 0, false
}
