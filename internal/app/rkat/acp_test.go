package rkat

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	acpsdk "github.com/coder/acp-go-sdk"

	"github.com/meerkat-go/conformance/simulator"
	_ "github.com/meerkat-go/conformance/wires/all"
)

// editor is a client of rkat acp. Its answers to permission requests are those of answer.
type editor struct {
	acpsdk.Client
	answer func(acpsdk.RequestPermissionRequest) acpsdk.RequestPermissionOutcome

	mu      sync.Mutex
	updates []acpsdk.SessionUpdate
	asked   int
}

func (e *editor) SessionUpdate(_ context.Context, n acpsdk.SessionNotification) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.updates = append(e.updates, n.Update)
	return nil
}

func (e *editor) RequestPermission(_ context.Context,
	r acpsdk.RequestPermissionRequest) (acpsdk.RequestPermissionResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked++
	return acpsdk.RequestPermissionResponse{Outcome: e.answer(r)}, nil
}

// takeUpdates returns the text of the answers, the last state of each tool call, and the
// kinds of the other updates since it was called last.
func (e *editor) takeUpdates() (text string, calls map[acpsdk.ToolCallId]string, others string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	calls = map[acpsdk.ToolCallId]string{}
	for _, u := range e.updates {
		switch {
		case u.AgentMessageChunk != nil:
			text += u.AgentMessageChunk.Content.Text.Text
		case u.ToolCall != nil:
			calls[u.ToolCall.ToolCallId] = string(u.ToolCall.Status)
		case u.ToolCallUpdate != nil:
			state := string(*u.ToolCallUpdate.Status)
			if c := u.ToolCallUpdate.Content; len(c) > 0 {
				state += ": " + c[0].Content.Content.Text.Text
			}
			calls[u.ToolCallUpdate.ToolCallId] = state
		case u.UserMessageChunk != nil:
			others += "user "
		case u.AgentThoughtChunk != nil && !strings.HasSuffix(others, "thought "):
			others += "thought "
		case u.Plan != nil:
			others += "plan "
		}
	}
	e.updates = nil
	return text, calls, others
}

// connectEditor starts rkat acp and says hello.
func connectEditor(t *testing.T, e *editor, env []string, args ...string) (*acpsdk.ClientSideConnection,
	func() (int, string)) {
	t.Helper()
	in, out, ended := startServer(t, env, append([]string{"acp"}, args...)...)
	c := acpsdk.NewClientSideConnection(e, in, out)
	hello, err := c.Initialize(t.Context(), acpsdk.InitializeRequest{ProtocolVersion: acpsdk.ProtocolVersionNumber})
	if err != nil || !hello.AgentCapabilities.LoadSession {
		t.Fatalf("initialize: %+v, %v", hello, err)
	}
	return c, ended
}

func openNew(t *testing.T, c *acpsdk.ClientSideConnection, servers ...acpsdk.McpServer) acpsdk.SessionId {
	t.Helper()
	if servers == nil {
		servers = []acpsdk.McpServer{}
	}
	s, err := c.NewSession(t.Context(), acpsdk.NewSessionRequest{Cwd: t.TempDir(), McpServers: servers})
	if err != nil {
		t.Fatal(err)
	}
	return s.SessionId
}

func prompt(t *testing.T, c *acpsdk.ClientSideConnection, id acpsdk.SessionId, text string) acpsdk.StopReason {
	t.Helper()
	r, err := c.Prompt(t.Context(), acpsdk.PromptRequest{
		SessionId: id, Prompt: []acpsdk.ContentBlock{acpsdk.TextBlock(text)},
	})
	if err != nil {
		t.Fatalf("prompt %q: %v", text, err)
	}
	return r.StopReason
}

// TestACP goes through a session: a new one, another model of another provider, and
// loading it in another process.
func TestACP(t *testing.T) {
	env := []string{"HOME=" + t.TempDir()}
	e := &editor{}
	c, ended := connectEditor(t, e, env, "--demo")
	id := openNew(t, c)
	if stop := prompt(t, c, id, `How long is "a heron"?`); stop != acpsdk.StopReasonEndTurn {
		t.Errorf("stop reason %s", stop)
	}
	text, calls, others := e.takeUpdates()
	if !strings.HasSuffix(text, "The tool demo_count answered: 2 words, 6 letters.") ||
		len(calls) != 1 || !strings.Contains(others, "thought") {
		t.Errorf("text %q, calls %v, others %q", text, calls, others)
	}
	for _, state := range calls {
		if state != "completed: 2 words, 6 letters" {
			t.Errorf("the call is %q", state)
		}
	}
	set, err := c.SetSessionConfigOption(t.Context(), acpsdk.SetSessionConfigOptionRequest{
		ValueId: &acpsdk.SetSessionConfigOptionValueId{SessionId: id, ConfigId: "model", Value: "gpt-5.2"},
	})
	if err != nil || len(set.ConfigOptions) != 2 || set.ConfigOptions[1].Select.CurrentValue != "gpt-5.2" {
		t.Errorf("%+v, %v", set, err)
	}
	prompt(t, c, id, `And "an owl"?`)
	if code, stderr := ended(); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	e = &editor{}
	c, _ = connectEditor(t, e, env, "--demo")
	if _, err := c.LoadSession(t.Context(), acpsdk.LoadSessionRequest{
		SessionId: id, Cwd: t.TempDir(), McpServers: []acpsdk.McpServer{},
	}); err != nil {
		t.Fatal(err)
	}
	text, calls, others = e.takeUpdates()
	if !strings.HasSuffix(text, "2 words, 5 letters.") || len(calls) != 2 || strings.Count(others, "user") != 2 {
		t.Errorf("loaded: text %q, calls %v, others %q", text, calls, others)
	}
	prompt(t, c, id, `And "egrets"?`)
	if text, _, _ := e.takeUpdates(); !strings.HasSuffix(text, "1 word, 6 letters.") {
		t.Errorf("after loading: %q", text)
	}
}

// TestACPPermissions holds that a tool that may change something waits for the client,
// what each answer means, and that the modes decide without asking.
func TestACPPermissions(t *testing.T) {
	choose := func(id acpsdk.PermissionOptionId) acpsdk.RequestPermissionOutcome {
		return acpsdk.NewRequestPermissionOutcomeSelected(id)
	}
	for _, c := range []struct {
		name, mode string
		answer     acpsdk.RequestPermissionOutcome
		asked      int // in two prompts
		ran        bool
	}{
		{"allowed", "ask", choose("allow"), 2, true},
		{"always allowed", "ask", choose("allow-always"), 1, true},
		{"rejected", "ask", choose("reject"), 2, false},
		{"an answer that was not offered", "ask", choose("yes"), 2, false},
		{"cancelled", "ask", acpsdk.NewRequestPermissionOutcomeCancelled(), 2, false},
		{"never asked", "auto", choose("reject"), 0, true},
		{"read only", "read-only", choose("allow"), 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			u := newUpstream(t, conversation())
			e := &editor{
				answer: func(acpsdk.RequestPermissionRequest) acpsdk.RequestPermissionOutcome { return c.answer },
			}
			conn, _ := connectEditor(
				t, e, append(u.env(dir), "HOME="+dir), "--conform-tools", "--permission-mode", c.mode,
			)
			id := openNew(t, conn)
			for range 2 {
				prompt(t, conn, id, `Call conform_echo with "a heron".`)
			}
			_, calls, _ := e.takeUpdates()
			if len(calls) == 0 {
				t.Fatal("no tool was called")
			}
			for id, state := range calls {
				if ran := strings.HasPrefix(state, "completed"); ran != c.ran {
					t.Errorf("call %s: %q", id, state)
				}
			}
			if e.asked != c.asked {
				t.Errorf("asked %d times, want %d", e.asked, c.asked)
			}
		})
	}
}

// TestACPEnds cancels a prompt, and disconnects, while the provider says nothing. The
// session stays legal and goes on.
func TestACPEnds(t *testing.T) {
	for _, way := range []string{"cancel", "disconnect", "close"} {
		t.Run(way, func(t *testing.T) {
			dir := t.TempDir()
			provider, arrived := hangingProvider(t)
			env := append(provider.env(dir), "HOME="+dir)
			c, ended := connectEditor(t, &editor{}, env)
			id := openNew(t, c)
			stop := make(chan acpsdk.StopReason, 1)
			go func() {
				r, _ := c.Prompt(t.Context(), acpsdk.PromptRequest{
					SessionId: id, Prompt: []acpsdk.ContentBlock{acpsdk.TextBlock("hi")},
				})
				stop <- r.StopReason
			}()
			<-arrived
			switch way {
			case "cancel":
				if err := c.Cancel(t.Context(), acpsdk.CancelNotification{SessionId: id}); err != nil {
					t.Error(err)
				}
			case "close":
				if _, err := c.CloseSession(t.Context(), acpsdk.CloseSessionRequest{SessionId: id}); err != nil {
					t.Error(err)
				}
			default:
				ended()
			}
			if got := <-stop; way != "disconnect" && got != acpsdk.StopReasonCancelled {
				t.Errorf("stop reason %q", got)
			}
			if code, stderr := ended(); code != 0 {
				t.Errorf("exit code %d: %s", code, stderr)
			}
			e := &editor{}
			c, _ = connectEditor(t, e, env)
			if _, err := c.ResumeSession(t.Context(), acpsdk.ResumeSessionRequest{
				SessionId: id, Cwd: dir, McpServers: []acpsdk.McpServer{},
			}); err != nil {
				t.Fatal(err)
			}
			prompt(t, c, id, "hi again")
			if text, _, _ := e.takeUpdates(); text == "" {
				t.Error("the session does not go on")
			}
		})
	}
}

// TestACPComesBetween holds that a prompt, and opening the session again, end the prompt that is
// being answered, at once, and that the session goes on.
func TestACPComesBetween(t *testing.T) {
	for _, way := range []string{"prompt", "load"} {
		t.Run(way, func(t *testing.T) {
			dir := t.TempDir()
			provider, arrived := hangingProvider(t)
			e := &editor{}
			c, ended := connectEditor(t, e, append(provider.env(dir), "HOME="+dir))
			id := openNew(t, c)
			stop := make(chan acpsdk.StopReason, 1)
			go func() { stop <- prompt(t, c, id, "first") }()
			<-arrived
			if way == "load" {
				if _, err := c.LoadSession(t.Context(), acpsdk.LoadSessionRequest{
					SessionId: id, Cwd: dir, McpServers: []acpsdk.McpServer{},
				}); err != nil {
					t.Error(err)
				}
			}
			if got := prompt(t, c, id, "second"); got != acpsdk.StopReasonEndTurn {
				t.Errorf("the second prompt ended by %q", got)
			}
			if got := <-stop; got != acpsdk.StopReasonCancelled {
				t.Errorf("the first prompt ended by %q", got)
			}
			if text, _, _ := e.takeUpdates(); !strings.Contains(text, "second") {
				t.Errorf("answered: %q", text)
			}
			if code, stderr := ended(); code != 0 {
				t.Errorf("exit code %d: %s", code, stderr)
			}
		})
	}
}

// TestACPRefuses holds what a client is told about requests that make no sense, and that
// the server goes on.
func TestACPRefuses(t *testing.T) {
	in, out, ended := startServer(t, []string{"HOME=" + t.TempDir()}, "acp", "--demo")
	answers := json.NewDecoder(out)
	for _, c := range []struct{ method, params, want string }{
		{"session/prompt", `{"sessionId":"x","prompt":[{"type":"text","text":"hi"}]}`, "it is not open"},
		{"session/new", `{"cwd":"relative","mcpServers":[]}`, "it is not an absolute path"},
		{
			"session/new",
			`{"cwd":"/","mcpServers":[{"type":"sse","name":"a","url":"http://127.0.0.1:1","headers":[]}]}`,
			"only stdio and http",
		},
		{
			"session/new", `{"cwd":"/","mcpServers":[{"name":"a","command":"/does/not/exist","args":[],"env":[]}]}`,
			"mcp server a",
		},
		{"session/new", `{"cwd":7}`, "error"},
		{"session/load", `{"sessionId":"../../etc/passwd","cwd":"/","mcpServers":[]}`, "not a session id"},
		{"session/load", `{"sessionId":"0199a2b4-0000-7000-8000-000000000000","cwd":"/","mcpServers":[]}`, "not found"},
		{"session/set_mode", `{"sessionId":"x","modeId":"ask"}`, "it is not open"},
		{"session/list", `{"cursor":"x"}`, "there is no such session"},
		{"authenticate", `{"methodId":"x"}`, "there is no method"},
		{"no/such/method", `{}`, "no/such/method"},
	} {
		if _, err := io.WriteString(
			in, `{"jsonrpc":"2.0","id":1,"method":"`+c.method+`","params":`+c.params+"}\n",
		); err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Error json.RawMessage `json:"error"`
		}
		if err := answers.Decode(&answer); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(answer.Error), c.want) {
			t.Errorf("%s %s: %s lacks %q", c.method, c.params, answer.Error, c.want)
		}
	}
	if code, stderr := ended(); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestACPHugeMessage holds that an editor learns why the server ended that could not read
// what it sent, such as a large image.
func TestACPHugeMessage(t *testing.T) {
	in, out, ended := startServer(t, []string{"HOME=" + t.TempDir()}, "acp", "--demo")
	go func() { _, _ = io.Copy(io.Discard, out) }()
	_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"`+strings.Repeat("x", 11<<20)+"\"}\n")
	if code, stderr := ended(); code != 1 || !strings.Contains(stderr, "stdin: a message is larger than 10 MiB") {
		t.Errorf("exit code %d: %.500s; want 1 and the reason", code, stderr)
	}
}

// conversation is a provider that calls the tools that a prompt names.
func conversation() http.Handler { return simulator.New(simulator.Config{Seed: "editor"}) }
