package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/meerkat-go/conformance/internal/isolate"
)

// Time limits of what a driver must answer. A turn is bounded by the case.
const (
	answerTimeout    = 60 * time.Second
	interruptTimeout = 20 * time.Second
	endTimeout       = 5 * time.Second
)

// exitUnsupported is the exit code of a driver that cannot do what it is asked.
const exitUnsupported = 127

// process is one running driver. One goroutine uses it at a time.
type process struct {
	running *isolate.Process
	answers chan answer
	lastID  int
	fault   error           // why answers was closed, read after that
	result  *isolate.Result // once it has ended
}

// readAnswers hands the answers over until the driver ends or writes something
// else.
func (p *process) readAnswers() {
	defer close(p.answers)
	in := newAnswerReader(p.running.Stdout)
	for {
		a, err := in.nextAnswer()
		if err != nil {
			p.fault = err
			if noise := in.Noise(); errors.Is(err, io.EOF) && noise != "" {
				p.fault = errors.New("ended" + noise)
			}
			return
		}
		p.answers <- a
	}
}

// sendCommand writes a command and returns its id.
func (p *process) sendCommand(kind string, members map[string]any) (int, error) {
	p.lastID++
	message := map[string]any{"type": kind, "id": p.lastID}
	for name, value := range members {
		message[name] = value
	}
	line, err := json.Marshal(message)
	if err != nil {
		return 0, err
	}
	_, err = p.running.Stdin.Write(append(line, '\n'))
	return p.lastID, err
}

// sendAndWait sends a command and waits for its answer. Answers to other commands are passed
// over. When interrupt is closed, the command is called off.
func (p *process) sendAndWait(ctx context.Context, limit time.Duration, kind string, members map[string]any,
	interrupt <-chan struct{}) (answer, error) {
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("did not answer %s within %v", kind, limit))
	defer cancel()
	stop := context.AfterFunc(limited, p.running.Stop) // also frees a write that blocks
	defer stop()
	id, err := p.sendCommand(kind, members)
	if err != nil && limited.Err() != nil {
		return answer{}, context.Cause(limited)
	}
	var overdue <-chan time.Time // a driver that ended says why when it is read
	for {
		select {
		case a, ok := <-p.answers:
			if !ok {
				return answer{}, p.endOf(limited, kind)
			}
			if a.ID == id {
				return a, nil
			}
		case <-interrupt:
			interrupt = nil
			timer := time.NewTimer(interruptTimeout)
			defer timer.Stop()
			overdue = timer.C
			_, _ = p.sendCommand("interrupt", nil) // its process may have ended
		case <-overdue:
			p.running.Stop()
			return answer{}, fmt.Errorf("did not end the turn within %v of interrupt", interruptTimeout)
		case <-limited.Done():
			return answer{}, context.Cause(limited)
		}
	}
}

// errEnded is why a driver that has ended by itself gives no answer.
var errEnded = errors.New("ended")

// endOf says why no answer comes any more.
func (p *process) endOf(limited context.Context, kind string) error {
	switch {
	case limited.Err() != nil:
		return context.Cause(limited)
	case !errors.Is(p.fault, io.EOF):
		return p.fault
	}
	return fmt.Errorf("%w before it answered %s", errEnded, kind)
}

// endProcess ends the process: its input first, then all of it.
func (p *process) endProcess() isolate.Result {
	if p.result != nil {
		return *p.result
	}
	_ = p.running.Stdin.Close() // it may have ended
	timer := time.AfterFunc(endTimeout, p.running.Stop)
	defer timer.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range p.answers {
		}
	}()
	result, _ := p.running.Wait() // the caller's context says why it was ended
	<-done
	p.result = &result
	return result
}
