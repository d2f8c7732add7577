//go:build unix

package rkat

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/simulator"
)

// interrupted is a process of rkat in a state in which SIGINT is to end it.
type interrupted struct {
	*exec.Cmd
	t      *testing.T
	env    []string
	pipe   string // named pipe that the tool server opens
	stdout io.Reader
	stderr bytes.Buffer
	ended  chan error
}

// startInterrupted starts program, which is rkat, against a provider.
func startInterrupted(t *testing.T, program string, provider http.Handler, args ...string) *interrupted {
	t.Helper()
	dir := t.TempDir()
	p := &interrupted{t: t, pipe: filepath.Join(dir, "called"), ended: make(chan error, 1)}
	if err := syscall.Mkfifo(p.pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"well", "late", "stubborn"} {
		text := fmt.Sprintf(
			`{"mcpServers": {"srv": {"command": "toolserver", "args": [%q], "env": {"CALLED": %q}}}}`, mode, p.pipe,
		)
		if err := os.WriteFile(filepath.Join(dir, mode+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.env = append(newUpstream(t, provider).env(filepath.Join(dir, "sessions")), "HOME="+dir, "PATH="+os.Getenv("PATH"))
	p.Cmd = exec.CommandContext(t.Context(), program, args...)
	p.Dir, p.Env, p.Stderr = dir, p.env, &p.stderr
	r, w, err := os.Pipe() // not of exec: Wait would close it
	if err != nil {
		t.Fatal(err)
	}
	p.stdout, p.Stdout = r, w
	t.Cleanup(func() { _ = r.Close() })
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	go func() { p.ended <- p.Wait() }()
	return p
}

// openPipe waits until the tool server has opened its pipe, and said so.
func (p *interrupted) openPipe() *os.File {
	p.t.Helper()
	f, err := os.Open(p.pipe)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = f.Close() })
	if _, err := f.Read(make([]byte, 1)); err != nil {
		p.t.Fatal(err)
	}
	return f
}

// interrupt sends SIGINT, if the process goes on for so long.
func (p *interrupted) interrupt() {
	p.t.Helper()
	if err := p.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// stuck is a provider whose reply never ends: the beginning of a stream, much text if
// talks is set, and then nothing, or text over and over if it is endless. began is closed
// when the process has got most of what comes first, hungUp when it has hung up.
type stuck struct {
	talks, endless bool
	began, hungUp  chan struct{}
}

func newStuck(talks, endless bool) *stuck {
	return &stuck{talks: talks, endless: endless, began: make(chan struct{}), hungUp: make(chan struct{})}
}

const replyBegins = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-opus-4-6\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"

const replyGoesOn = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"all work and no play \"}}\n\n"

func (s *stuck) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer close(s.hungUp)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, replyBegins)
	_ = http.NewResponseController(w).Flush()
	piece := []byte(strings.Repeat(replyGoesOn, 1000))
	const most = 100 // more than the buffers of a connection hold
	for n := 0; s.talks && n < most; n++ {
		_, _ = w.Write(piece)
	}
	close(s.began)
	for s.endless && r.Context().Err() == nil {
		_, _ = w.Write(piece[:len(replyGoesOn)])
	}
	<-r.Context().Done()
}

// TestSIGINT holds what the manual promises: whatever goes on, the first SIGINT ends the
// process with 130 within a second, and the session is legal.
func TestSIGINT(t *testing.T) {
	calls := func() http.Handler { return simulator.New(simulator.Config{Seed: "script"}) }
	waiting := []string{"run", "--mcp", "well.json", `Call srv__wait with "heron".`}
	for name, enter := range map[string]func(*testing.T) *interrupted{
		"a tool hangs": func(t *testing.T) *interrupted {
			t.Helper()
			p := startInterrupted(t, "rkat", calls(), waiting...)
			p.openPipe()
			return p
		},
		"a tool server does not answer the handshake": func(t *testing.T) *interrupted {
			t.Helper()
			p := startInterrupted(t, "rkat", calls(), "run", "--mcp", "late.json", "hi")
			p.openPipe()
			return p
		},
		"a tool server does not end": func(t *testing.T) *interrupted {
			t.Helper()
			p := startInterrupted(t, "rkat", calls(), "run", "--mcp", "stubborn.json", `Call srv__wait with "heron".`)
			server := p.openPipe()
			t.Cleanup(func() {
				if _, err := io.ReadAll(server); err != nil { // ends with the last process that has it open
					t.Error(err)
				}
			})
			return p
		},
		"no reply comes": func(t *testing.T) *interrupted {
			t.Helper()
			provider := newStuck(false, false)
			p := startInterrupted(t, "rkat", provider, "run", "hi")
			<-provider.began
			return p
		},
		"an endless reply comes": func(t *testing.T) *interrupted {
			t.Helper()
			provider := newStuck(true, true)
			p := startInterrupted(t, "rkat", provider, "run", "hi")
			<-provider.began
			return p
		},
		"nobody reads what it prints": func(t *testing.T) *interrupted {
			t.Helper()
			provider := newStuck(true, false)
			p := startInterrupted(t, "rkat", provider, "run", "-o", "json-stream", "hi")
			<-provider.began
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			quickest := time.Hour
			for try := 0; try < 10 && quickest > time.Second; try++ { // others use the machine, too
				p := enter(t)
				sent := time.Now()
				p.interrupt()
				<-p.ended
				quickest = min(quickest, time.Since(sent))
				if code := p.ProcessState.ExitCode(); code != exitInterrupted {
					t.Errorf("%v, not 130: %s", p.ProcessState, p.stderr.String())
				}
				legalSession(t, p.env)
			}
			t.Log(quickest)
			if quickest > time.Second {
				t.Errorf("it ends after %v", quickest)
			}
		})
	}
}

// TestSecondSIGINT: who sends it twice does not wait for anything.
func TestSecondSIGINT(t *testing.T) {
	if signal.Ignored(os.Interrupt) { // as in a shell's background job; what is caught is not ignored in children
		caught := make(chan os.Signal, 1)
		signal.Notify(caught, os.Interrupt)
		defer signal.Stop(caught)
	}
	provider := newStuck(true, false)
	// nobody reads: it waits for long
	p := startInterrupted(t, "patient-rkat", provider, "run", "-o", "json-stream", "hi")
	<-provider.began
	p.interrupt()
	<-provider.hungUp
	select {
	case <-p.ended:
		t.Fatalf("the first one ended it (%v); the test shows nothing", p.ProcessState)
	default:
	}
	p.interrupt()
	<-p.ended
	if status := p.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("%v", p.ProcessState)
	}
	legalSession(t, p.env)
}

// TestSIGINTAtEachEvent interrupts at each line that a run prints. Checkpoints follow
// events, so that the session is being written at some of them.
func TestSIGINTAtEachEvent(t *testing.T) {
	for n := 1; ; n++ {
		p := startInterrupted(
			t, "rkat", simulator.New(simulator.Config{Seed: "script"}), "run", "-o", "json-stream", "--conform-tools",
			`Call conform_echo with "heron".`,
		)
		lines := bufio.NewScanner(p.stdout)
		lines.Buffer(nil, 1<<20)
		for range n {
			if !lines.Scan() {
				t.Fatalf("%d lines only: %s", n-1, p.stderr.String())
			}
		}
		last := strings.HasPrefix(lines.Text(), `{"type":"result"`)
		if !last {
			p.interrupt()
		}
		_, _ = io.Copy(io.Discard, p.stdout.(*os.File))
		<-p.ended
		if code := p.ProcessState.ExitCode(); code != 0 && code != exitInterrupted || last && code != 0 {
			t.Errorf("line %d: %v, %s", n, p.ProcessState, p.stderr.String())
		}
		legalSession(t, p.env)
		if again := rkat(
			t.Context(), p.env, "resume", "--last", "--conform-tools", "And now?",
		); n > 2 && again.code != 0 {
			t.Errorf("line %d: cannot be resumed: %s", n, again.stderr)
		}
		if last {
			return
		}
	}
}
