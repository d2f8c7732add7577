package e2e_test

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/meerkat-go/conformance/specs"
)

// serveScene is a server with one run under way.
type serveScene struct {
	*stage
	server *replica
	run    servedRun
}

// startScene starts a server and a run, and waits until the run is in the state that a
// test wants: in a tool, or else in the middle of a stream.
func startScene(t *testing.T, inTool bool, drain string) *serveScene {
	t.Helper()
	begun := turn(thinking("I think."), text("It begins and ends."))
	begun.Stall, begun.Times = stall(6), 1
	turns := []specs.Turn{begun}
	prompt := "Begin."
	if inTool {
		turns, prompt = nil, `Call srv__look and srv__pay with "rent".`
	}
	s := &serveScene{stage: newStage(t, newStrict(t, turns...), newDesk(t, "pay"))}
	s.server = s.startServer(nil, "--drain", drain)
	status, run := s.ask(s.server.address, http.MethodPost, "/sessions",
		map[string]string{"prompt": prompt, "model": leads[0]})
	if status != http.StatusAccepted {
		t.Fatalf("POST /sessions: %d %+v", status, run)
	}
	if s.run = run; inTool {
		<-s.desk.began
	} else {
		<-s.provider.arrived
	}
	return s
}

// beginDraining sends a signal and waits until the server says that it stops.
func (s *serveScene) beginDraining(by os.Signal) {
	s.Helper()
	if err := s.server.cmd.Process.Signal(by); err != nil {
		s.Fatal(err)
	}
	for status := 0; status != http.StatusServiceUnavailable; {
		status, _ = s.ask(s.server.address, http.MethodGet, "/healthz", nil)
	}
}

// awaitEnd returns the exit code of the server, -1 if a signal ended it.
func (s *serveScene) awaitEnd() int {
	_ = s.server.cmd.Wait() // the code says how
	return s.server.cmd.ProcessState.ExitCode()
}

// TestServeDrains: after a signal nothing is accepted, a run that ends in time ends as it
// would have, and the server exits with 0.
func TestServeDrains(t *testing.T) {
	s := startScene(t, true, "1h")
	s.beginDraining(syscall.SIGTERM)
	if status, got := s.ask(s.server.address, http.MethodPost, "/sessions", map[string]string{"prompt": "More."}); status != http.StatusServiceUnavailable || !strings.Contains(got.Detail, "the server is stopping") {
		t.Errorf("another run: %d %+v", status, got)
	}
	s.desk.release()
	if code := s.awaitEnd(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if text := s.session(); !strings.Contains(text, "pay has rent") || strings.Contains(text, "interrupted") {
		t.Errorf("the session: %s", text)
	}
	if got := s.rkat(64, "resume", "--last"); !strings.Contains(got.stderr, "nothing to go on with") {
		t.Errorf("%+v", got)
	}
	s.ran("look rent", "pay rent")
}

// TestServeCutsOff: a run that does not end in time is interrupted, the server exits with
// 0, and the session goes on: a stream is asked for again, a tool is not run again.
func TestServeCutsOff(t *testing.T) {
	for name, c := range map[string]struct {
		inTool bool
		by     os.Signal
		answer string
	}{"stream": {false, syscall.SIGINT, "It begins and ends."}, "tool": {true, syscall.SIGTERM, mayHaveRun}} {
		t.Run(name, func(t *testing.T) {
			s := startScene(t, c.inTool, "10ms")
			if code := s.ends(s.server.cmd, c.by); code != 0 {
				t.Errorf("exit code %d", code)
			}
			s.desk.release()
			s.goesOn(c.answer)
		})
	}
}

// TestServeSecondSignal: a second signal ends the server at once, whatever goes on, and
// nothing that is stored is lost.
func TestServeSecondSignal(t *testing.T) {
	for name, inTool := range map[string]bool{"stream": false, "tool": true} {
		t.Run(name, func(t *testing.T) {
			s := startScene(t, inTool, "1h")
			s.beginDraining(syscall.SIGTERM)
			if code := s.ends(s.server.cmd, syscall.SIGTERM); code != -1 {
				t.Errorf("the server ended by itself: %d", code)
			}
			s.desk.release()
			s.goesOn(map[bool]string{false: "It begins and ends.", true: mayHaveRun}[inTool])
		})
	}
}

// goesOn resumes the session with rkat resume, and wants an answer.
func (s *serveScene) goesOn(answer string) {
	s.Helper()
	if got := s.rkat(0, "resume", s.run.SessionID); !strings.Contains(got.stdout, answer) {
		s.Errorf("resumed: %+v, want %q", got, answer)
	}
	if strings.Contains(answer, "tool") {
		s.ran("look rent", "pay rent")
	}
}
