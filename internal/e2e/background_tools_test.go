package e2e_test

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// TestBackgroundTools: a tool in the background returns an id at once; its result comes by
// await_ops or in a message, what cannot be called is refused, and the arguments are those
// that the model wrote.
func TestBackgroundTools(t *testing.T) {
	plan := `start_tool {"tool":"echo","name":"one","arguments":{"text":"1.50"}}
start_tool {"tool":"echo","name":"bad","arguments":{"text":7}}
start_tool {"tool":"hold","name":"held"}
start_tool {"tool":"ecko"}
start_tool {"tool":"spawn_agent","arguments":{"prompt":"hi"}}
start_tool {"tool":"web_search","arguments":{"query":"hi"}}
steer {"id":"held","message":"hurry"}
then await_ops {"ids":["one","bad"]}
then cancel_ops {"ids":["held"]}
start_tool {"tool":"echo","name":"two","arguments":{"text":"later"}}
spawn_agent {"name":"denied","tools_denied":["echo"],"prompt":"start_tool {\"tool\":\"echo\",\"arguments\":{\"text\":\"x\"}}\nthen await_ops {}"}
then say I wait.`
	hold := tool.Tool{Def: transcript.ToolDef{Name: "hold", Description: "Waits."},
		Func: func(ctx context.Context, _ []byte) (transcript.ToolResult, error) {
			<-ctx.Done()
			return transcript.ToolResult{}, ctx.Err()
		}}
	all := runTree(t, plan, func(b *meerkat.AgentBuilder,
		_ string) {
		b.WithTool(hold).WithHostedTools(transcript.HostedSearch)
	})
	root := all[""]
	got := results(root)
	for i, want := range []string{`"name":"one","status":"running"`, `"status":"running"`, `"status":"running"`,
		"did you mean echo?", "cannot be one; call it directly", "the provider runs it itself", "takes no directives",
		`"result":"{\"text\":\"1.50\"}"`, `"name":"held","status":"cancelled"`} {
		if !strings.Contains(got[i], want) {
			t.Errorf("answer %d: %s; want %s", i, got[i], want)
		}
	}
	if !strings.Contains(got[7], `"name":"bad","status":"failed","error":"`) {
		t.Errorf("bad arguments: %s", got[7])
	}
	if told := toldOf(all["denied"]); !strings.Contains(told, "may not call the tool echo") {
		t.Errorf("a sub-agent without the tool: %s", told)
	}
	if told := toldOf(root); !strings.Contains(told,
		`"name":"two","status":"completed","result":"{\"text\":\"later\"}"`) {
		t.Errorf("the result in a message: %s", told)
	}
}

// toldOf returns all that a model was told by tools and in messages.
func toldOf(s session.Session) string {
	told := results(s)
	for i := range s.Messages {
		told = append(told, s.Messages[i].Content)
	}
	return strings.Join(told, "\n")
}

// TestBackgroundToolKilled kills rkat while a tool in the background pays. The call is
// never made again, and the model is told that it may have been made.
func TestBackgroundToolKilled(t *testing.T) {
	s := newStage(t, newStrict(t), newDesk(t, "pay"))
	cmd, _ := s.aside("run", "--sub-agents", "--model", leads[0],
		`start_tool {"tool":"srv__pay","name":"rent","arguments":{"text":"rent"}}`+
			"\nthen await_ops {}\nthen say Paid.")
	<-s.desk.began
	if code := s.ends(cmd, syscall.SIGKILL); code != -1 {
		t.Fatalf("the process ended by itself: %d", code)
	}
	s.desk.release()
	s.rkat(0, "resume", "--last")
	s.ran("pay rent")
	if text := s.session(); !strings.Contains(text, mayHaveRun) ||
		!strings.Contains(text, `"status":"`+string(ops.Interrupted)+`"`) {
		t.Errorf("the session: %s", text)
	}
}
