package acp

import (
	"bytes"
	"context"
	"io"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/isolate"
)

// InProcess is a [harness.Converse]: it talks to main, which speaks the protocol over its
// standard input and output, inside this process.
func InProcess(room harness.Room, main harness.Main, args, env []string) (harness.Session, error) {
	files, err := openWorkFolder(room.Work)
	if err != nil {
		return nil, err
	}
	room.Tools = harness.ToolServer{} // main has tools of its own
	start := func(ctx context.Context) (*agent, error) {
		p, stdin, stdout := startMain(ctx, main, args, env)
		return greetAgent(ctx, p, stdin, stdout, &client{permissions: Allow, files: files}, answerTimeout)
	}
	return &session{room: room, files: files, args: args, start: start}, nil
}

// mainProcess is a call of a command that runs.
type mainProcess struct {
	cancel context.CancelFunc
	ended  chan struct{}
	code   int          // once it has ended
	stderr bytes.Buffer // the same
}

// startMain calls main and returns both ends of its pipes.
func startMain(ctx context.Context, main harness.Main, args, env []string) (*mainProcess, io.WriteCloser, io.Reader) {
	ctx, cancel := context.WithCancel(ctx)
	p := &mainProcess{cancel: cancel, ended: make(chan struct{})}
	itsIn, stdin := io.Pipe()
	stdout, itsOut := io.Pipe()
	go func() {
		defer close(p.ended)
		p.code = main(ctx, args, itsIn, itsOut, &p.stderr, env)
		_, _ = itsIn.Close(), itsOut.Close() // a pipe closes without an error
	}()
	return p, stdin, stdout
}

// Stop implements process.
func (p *mainProcess) Stop() { p.cancel() }

// Wait implements process.
func (p *mainProcess) Wait() (isolate.Result, error) {
	<-p.ended
	p.cancel()
	return isolate.Result{ExitCode: p.code, Stderr: p.stderr.Bytes()}, nil
}
