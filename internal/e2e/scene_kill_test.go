package e2e_test

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/meerkat-go/conformance/specs"
)

// token finds what proves a thought to its provider, in the bytes it came in.
var token = regexp.MustCompile(`"(signature|encrypted_content|thoughtSignature)": ?"`)

// TestSceneToolLoop: thoughts, two rounds of tools of an MCP server, one call and
// then two side by side, and the answer that follows from them.
func TestSceneToolLoop(t *testing.T) {
	for _, model := range leads {
		t.Run(model, func(t *testing.T) {
			p := newStrict(t,
				turn(thinking("First the heron."), call("echo", "heron")),
				specs.Turn{Expect: &specs.Expectation{Results: []string{"conform_echo has heron"}}, Emit: []specs.Block{
					thinking("Now two at once."), call("echo", "owl"), call("echo", "egret"),
				}},
				specs.Turn{Expect: &specs.Expectation{Results: []string{"has owl", "has egret"}},
					Emit: []specs.Block{text("Three birds.")}})
			s := newStage(t, p, newDesk(t))
			got := s.rkat(0, "run", "--model", model, "--effort", "high", "Echo three birds.")
			if got.stdout != "Three birds.\n" || !strings.Contains(got.stderr, "3 turns, 3 tool calls") {
				t.Errorf("%+v", got)
			}
			if ran := strings.Split(s.desk.runs(), ", "); len(ran) != 3 || ran[0] != "conform_echo heron" {
				t.Errorf("%v ran", ran)
			}
			// The tokens of both thoughts are in the last request.
			last := string(p.asked(0)[2])
			if tokens := token.FindAllString(last, -1); len(tokens) != 2 {
				t.Errorf("%d tokens in %s", len(tokens), last)
			}
		})
	}
}

// killedInTool is a session whose process was killed while it paid, and after it
// had looked.
func killedInTool(t *testing.T, model string) *stage {
	t.Helper()
	s := newStage(t, newStrict(t), newDesk(t, "pay"))
	cmd, out := s.aside("run", "--model", model, "--effort", "high", "-o", "json-stream",
		`Call srv__look and srv__pay with "rent".`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var e struct{ Type, Name string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if e.Type == "tool_execution_completed" && e.Name == "srv__look" {
			break
		}
	}
	<-s.desk.began
	if code := s.ends(cmd, syscall.SIGKILL); code != -1 {
		t.Fatalf("the process ended by itself: %d", code)
	}
	s.desk.release()
	return s
}

const mayHaveRun = "interrupted: the tool may have run; check its effects before calling it again"

// TestSceneKilledInTool: what a killed process leaves is told as it is. The next
// request is the one that render shows, byte for byte; no tool runs again.
func TestSceneKilledInTool(t *testing.T) {
	for _, model := range leads {
		t.Run(model, func(t *testing.T) {
			s := killedInTool(t, model)
			shown := s.rkat(0, "render", "--last")
			got := s.rkat(0, "resume", "--last")
			sent := s.provider.asked(1)
			if len(sent) != 1 || string(sent[0])+"\n" != shown.stdout {
				t.Fatalf("%d requests; rendered\n%s\nsent\n%s", len(sent), shown.stdout, sent)
			}
			for _, part := range []string{"look has rent", mayHaveRun} {
				if n := strings.Count(shown.stdout, part); n != 1 {
					t.Errorf("%q is told %d times in %s", part, n, shown.stdout)
				}
			}
			if !strings.Contains(got.stdout, "The tool srv__pay answered: ") ||
				!strings.Contains(got.stdout, mayHaveRun) {
				t.Errorf("%+v", got)
			}
			s.ran("look rent", "pay rent")
		})
	}
}

// TestSceneKilledThenPrompted is the same with a prompt of the user.
func TestSceneKilledThenPrompted(t *testing.T) {
	for _, model := range leads {
		t.Run(model, func(t *testing.T) {
			s := killedInTool(t, model)
			shown := s.rkat(0, "render", "--last", "What happened?")
			s.rkat(0, "resume", "--last", "What happened?")
			if sent := s.provider.asked(1); string(sent[0])+"\n" != shown.stdout ||
				!strings.Contains(shown.stdout, "What happened?") {
				t.Errorf("rendered\n%s\nsent\n%s", shown.stdout, sent[0])
			}
			s.ran("look rent", "pay rent", "conform_echo example")
		})
	}
}

// ran wants these runs of tools, in any order.
func (s *stage) ran(want ...string) {
	s.Helper()
	got := ", " + s.desk.runs() + ","
	for _, w := range want {
		got = strings.Replace(got, ", "+w+",", ",", 1)
	}
	if got != "," && got != ", ," {
		s.Errorf("ran: %s; want %s", s.desk.runs(), want)
	}
}

// TestSceneFailPolicy: with --on-interrupted fail nothing is sent, run or
// written until somebody decides.
func TestSceneFailPolicy(t *testing.T) {
	s := killedInTool(t, leads[0])
	before := s.session()
	got := s.rkat(1, "resume", "--last", "--on-interrupted", "fail")
	if !strings.Contains(got.stderr, "these tools may or may not have run when the session was interrupted: srv__pay") {
		t.Errorf("%+v", got)
	}
	s.rkat(1, "render", "--last", "--on-interrupted", "fail")
	if s.session() != before || len(s.provider.asked(1)) != 0 {
		t.Error("the session changed, or something was sent")
	}
	s.rkat(0, "resume", "--last", "--on-interrupted", "ask-model")
	s.ran("look rent", "pay rent")
}

// session is the only session's file.
func (s *stage) session() string {
	s.Helper()
	entries, err := os.ReadDir(s.path("sessions"))
	if err != nil {
		s.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".jsonl") {
			data, err := os.ReadFile(s.path("sessions/" + e.Name()))
			if err != nil {
				s.Fatal(err)
			}
			return string(data)
		}
	}
	s.Fatal("no session")
	return ""
}

// TestSceneRetryPolicy: with --on-interrupted retry-idempotent a tool that says
// that it may runs again, and no other.
func TestSceneRetryPolicy(t *testing.T) {
	for _, model := range leads {
		t.Run(model, func(t *testing.T) {
			s := newStage(t, newStrict(t), newDesk(t, "pay", "look"))
			cmd, _ := s.aside("run", "--model", model, `Call srv__look and srv__pay with "rent".`)
			<-s.desk.began
			<-s.desk.began
			s.ends(cmd, syscall.SIGKILL)
			s.desk.release()
			s.rkat(0, "resume", "--last", "--on-interrupted", "retry-idempotent")
			s.ran("look rent", "pay rent", "look rent")
			sent := string(s.provider.asked(1)[0])
			if strings.Count(sent, mayHaveRun) != 1 || strings.Count(sent, "look has rent") != 1 {
				t.Errorf("sent %s", sent)
			}
		})
	}
}

// TestSceneKilledTwice: a process that goes on is killed as well.
func TestSceneKilledTwice(t *testing.T) {
	s := killedInTool(t, leads[0])
	s.desk.block()
	cmd, _ := s.aside("resume", "--last", `Call srv__pay with "again".`)
	<-s.desk.began
	s.ends(cmd, syscall.SIGKILL)
	s.desk.release()
	shown := s.rkat(0, "render", "--last")
	s.rkat(0, "resume", "--last")
	if sent := s.provider.asked(2); string(sent[0])+"\n" != shown.stdout ||
		strings.Count(shown.stdout, mayHaveRun) != 2 {
		t.Errorf("rendered\n%s\nsent\n%s", shown.stdout, sent[0])
	}
	s.ran("look rent", "pay rent", "pay again")
}
