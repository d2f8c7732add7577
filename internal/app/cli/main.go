package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// RunFunc is the entry of a program: a command line, streams and environment in,
// an exit code out.
type RunFunc func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int

// exitInterrupted is the exit code of programs that SIGINT ended (128 + 2).
const exitInterrupted = 130

// Main runs a program in this process and ends the process. SIGINT, SIGTERM and,
// unless it was to be ignored (nohup), SIGHUP end the context, whose cause then is
// not the plain context.Canceled; a second one ends the process at once. A closed
// stdout is an error
// of the write, which [Frame] handles, and not the signal that would kill the
// process in the middle of its work.
func Main(run RunFunc) { MainWithin(nil, run) }

// MainWithin is Main for a program whose work is safe at any moment. It ends the
// process with 130 when the work goes on for longer than patience after the first
// signal, for instance because nobody reads its output. patience is asked at that signal
// and gets the arguments; nil, or 0 from it: the process waits.
func MainWithin(patience func(args []string) time.Duration, run RunFunc) {
	log.SetOutput(logFilter{os.Stderr})
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // not Ignore: children would inherit it
	ctx, cancel := context.WithCancelCause(context.Background())
	first := make(chan os.Signal, 1)
	signal.Notify(first, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(first, syscall.SIGHUP)
	}
	go func() {
		got := <-first
		signal.Stop(first) // before anything can be seen of the first signal: the second one kills
		if patience != nil {
			if wait := patience(os.Args[1:]); wait > 0 {
				time.AfterFunc(wait, func() { os.Exit(exitInterrupted) })
			}
		}
		cancel(fmt.Errorf("%w by %s", context.Canceled, got))
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}

// logFilter passes on what packages log, but not the bytes that net/http logs of a server
// which sends something unasked: they can hold a key, and -q does not hide them.
type logFilter struct{ w io.Writer }

// Write takes one entry.
func (f logFilter) Write(entry []byte) (int, error) {
	if bytes.Contains(entry, []byte("Unsolicited response received on idle HTTP channel")) {
		return len(entry), nil
	}
	return f.w.Write(entry)
}

// pipeWriter drops what is written after the reader has closed its end, and keeps
// the first error of any other kind.
type pipeWriter struct {
	mu     sync.Mutex
	w      io.Writer
	closed bool
	err    error
}

func (p *pipeWriter) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return len(data), nil
	}
	n, err := p.w.Write(data)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		p.closed = true
		return len(data), nil
	}
	if p.err == nil {
		p.err = err
	}
	return n, err
}

// writeError returns the first error of a write that was not the reader's doing.
func (p *pipeWriter) writeError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
