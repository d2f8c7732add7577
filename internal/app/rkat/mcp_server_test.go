package rkat

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
	"github.com/meerkat-go/conformance/simulator"
)

// startServer runs a server command in this process until its stdin ends. It returns
// its pipes and, when it has ended, its exit code and stderr.
func startServer(t *testing.T, env []string, args ...string) (in io.WriteCloser, out io.Reader,
	ended func() (int, string)) {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		got := Run(t.Context(), args, fromClient, toClient, &stderr, env)
		_, _ = toClient.Close(), fromClient.Close()
		code <- got
	}()
	wait := sync.OnceValues(func() (int, string) {
		_ = toServer.Close()
		go func() { _, _ = io.Copy(io.Discard, fromServer) }()
		return <-code, stderr.String()
	})
	t.Cleanup(func() { wait() })
	return toServer, fromServer, wait
}

// connectMCP is a client of rkat mcp-server whose progress goes to progress.
func connectMCP(t *testing.T, env []string, progress func(string), args ...string) (*sdk.ClientSession,
	func() (int, string)) {
	t.Helper()
	in, out, ended := startServer(t, env, append([]string{"mcp-server"}, args...)...)
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			if progress != nil {
				progress(r.Params.Message)
			}
		},
	})
	s, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: io.NopCloser(out), Writer: in}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, ended
}

// callMCP calls a tool and reads its structured result into out.
func callMCP(t *testing.T, s *sdk.ClientSession, name string, arguments map[string]any, out any) *sdk.CallToolResult {
	t.Helper()
	params := &sdk.CallToolParams{Name: name, Arguments: arguments}
	params.SetProgressToken(name)
	result, err := s.CallTool(t.Context(), params)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if text, err := json.Marshal(result.StructuredContent); err != nil || out != nil &&
		json.Unmarshal(text, out) != nil {
		t.Fatalf("%s: its structured content is %s", name, text)
	}
	return result
}

func errorText(r *sdk.CallToolResult) string {
	if text, ok := r.Content[0].(*sdk.TextContent); ok && r.IsError {
		return text.Text
	}
	return ""
}

// serverResult has the members of all structured results that the tests look at.
type serverResult struct {
	Result    string `json:"result"`
	SessionID string `json:"session_id"`
	Usage     struct {
		Tokens    int `json:"tokens"`
		Turns     int `json:"turns"`
		ToolCalls int `json:"tool_calls"`
	} `json:"usage"`
	Error *struct {
		Kind string `json:"kind"`
	} `json:"error"`
	Total    int `json:"total"`
	Messages any `json:"messages"`
	Sessions []struct {
		SessionID string `json:"session_id"`
		Running   bool   `json:"running"`
	} `json:"sessions"`
	Running     bool `json:"running"`
	Interrupted bool `json:"interrupted"`
}

// TestMCPServer goes through all tools with the SDK's own client.
func TestMCPServer(t *testing.T) {
	var notes []string
	s, ended := connectMCP(
		t, []string{"HOME=" + t.TempDir()}, func(text string) { notes = append(notes, text) }, "--demo",
	)
	listed, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	if want := []string{
		"meerkat_history", "meerkat_interrupt", "meerkat_read", "meerkat_resume", "meerkat_run", "meerkat_sessions",
	}; !slices.Equal(names, want) {
		t.Errorf("tools %v, want %v", names, want)
	}
	var run, resumed, read, history, list, none serverResult
	callMCP(t, s, "meerkat_run", map[string]any{"prompt": `How long is "a heron"?`}, &run)
	if run.Result != "The tool demo_count answered: 2 words, 6 letters." || run.Usage.Turns != 2 ||
		run.Usage.ToolCalls != 1 || run.Usage.Tokens == 0 {
		t.Errorf("meerkat_run: %+v", run)
	}
	callMCP(
		t, s, "meerkat_resume",
		map[string]any{"session_id": run.SessionID[:18], "prompt": `And "an owl"?`, "model": "gpt-5.2"}, &resumed,
	)
	if resumed.SessionID != run.SessionID || resumed.Result != "The tool demo_count answered: 2 words, 5 letters." {
		t.Errorf("meerkat_resume: %+v", resumed)
	}
	callMCP(t, s, "meerkat_read", map[string]any{"session_id": run.SessionID}, &read)
	callMCP(t, s, "meerkat_history", map[string]any{"session_id": run.SessionID, "offset": 1, "limit": 2}, &history)
	callMCP(t, s, "meerkat_sessions", nil, &list)
	callMCP(t, s, "meerkat_interrupt", map[string]any{"session_id": run.SessionID}, &none)
	if parts, _ := history.Messages.([]any); read.Result != resumed.Result || read.Running || history.Total != 8 ||
		len(parts) != 2 || len(list.Sessions) != 1 || none.Interrupted {
		t.Errorf("read %+v, history %+v, sessions %+v, interrupt %+v", read, history, list, none)
	}
	if code, stderr := ended(); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if !slices.Contains(notes, "session "+run.SessionID) || !slices.Contains(notes, "tool demo_count: complete") {
		t.Errorf("progress %q", notes)
	}
}

// TestMCPServerRefuses holds that what cannot be done is said in the result, and that
// the server goes on.
func TestMCPServerRefuses(t *testing.T) {
	s, _ := connectMCP(t, []string{"HOME=" + t.TempDir()}, nil, "--demo")
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		want      string
	}{
		{
			"meerkat_run", map[string]any{"prompt": "hi", "model": "gpt-3.5-turbo"},
			`model "gpt-3.5-turbo" is not supported`,
		},
		{"meerkat_run", map[string]any{"prompt": " "}, "prompt: it is empty"},
		{"meerkat_run", map[string]any{"promt": "hi"}, "promt"},
		{"meerkat_run", map[string]any{"prompt": "hi", "effort": "enormous"}, "agent.effort"},
		{"meerkat_run", map[string]any{"prompt": "hi", "max_tokens": -1}, "max_tokens"},
		{"meerkat_resume", map[string]any{"session_id": "../../etc", "prompt": "hi"}, "session ../../etc: not found"},
		{"meerkat_read", map[string]any{"session_id": ""}, "not found"},
		{"meerkat_history", map[string]any{"session_id": "x", "limit": 100000}, "limit 100000: want 1 to 200"},
		{"meerkat_sessions", map[string]any{"offset": -1}, "it cannot be negative"},
	} {
		if got := errorText(callMCP(t, s, c.tool, c.arguments, nil)); !strings.Contains(got, c.want) {
			t.Errorf("%s %v: %q lacks %q", c.tool, c.arguments, got, c.want)
		}
	}
}

// hangingProvider answers nothing to the first request, whose arrival closes arrived,
// and converses afterwards.
func hangingProvider(t *testing.T) (u *upstream, arrived <-chan struct{}) {
	t.Helper()
	came := make(chan struct{})
	converse := simulator.New(simulator.Config{Seed: "server"})
	var first sync.Once
	return newUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hang := false
		first.Do(func() { hang = true })
		if hang {
			close(came)
			<-r.Context().Done()
			return
		}
		converse.ServeHTTP(w, r)
	})), came
}

// TestMCPServerInterrupts ends runs in each of the ways in which a client can, while the
// provider says nothing. The session stays legal and goes on.
func TestMCPServerInterrupts(t *testing.T) {
	for _, way := range []string{"interrupt", "cancel", "disconnect"} {
		t.Run(way, func(t *testing.T) {
			dir := t.TempDir()
			provider, arrived := hangingProvider(t)
			env := append(provider.env(dir), "HOME="+dir)
			started := make(chan string, 100)
			s, ended := connectMCP(t, env, func(text string) { started <- text })
			ctx, cancel := context.WithCancel(t.Context())
			result := make(chan *sdk.CallToolResult, 1)
			go func() {
				params := &sdk.CallToolParams{Name: "meerkat_run", Arguments: map[string]any{"prompt": "hi"}}
				params.SetProgressToken(way)
				r, _ := s.CallTool(ctx, params)
				result <- r
			}()
			id := strings.TrimPrefix(<-started, "session ")
			<-arrived
			switch way {
			case "interrupt":
				var out serverResult
				if callMCP(t, s, "meerkat_interrupt", map[string]any{"session_id": id}, &out); !out.Interrupted {
					t.Error("nothing was interrupted")
				}
				if r := <-result; !r.IsError || !strings.Contains(errorText(r), id) {
					t.Errorf("the run ended with %+v", r)
				}
			case "cancel":
				cancel()
				<-result
			case "disconnect":
				ended()
			}
			cancel()
			if code, stderr := ended(); code != 0 {
				t.Errorf("exit code %d: %s", code, stderr)
			}
			again, _ := connectMCP(t, env, nil)
			var out serverResult
			callMCP(t, again, "meerkat_resume", map[string]any{"session_id": id, "prompt": "hi"}, &out)
			if out.Error != nil || out.Result == "" {
				t.Errorf("the session does not go on: %+v", out)
			}
		})
	}
}

// TestMCPServerGarbage holds that what is not a message of the protocol is answered with an
// error, that the server goes on, and that nothing is kept of it.
func TestMCPServerGarbage(t *testing.T) {
	const parse, invalid = `"id":null,"error":{"code":-32700,`, `"id":null,"error":{"code":-32600,`
	for name, c := range map[string]struct{ text, want string }{
		"no JSON": {
			"GET / HTTP/1.1\r\n\r\n", parse + `"message":"the line is not JSON; send JSON-RPC messages, one a line"}`,
		},
		"a deep list":   {strings.Repeat("[", 100000) + "\n", parse},
		"two on a line": {`{"jsonrpc":"2.0","id":1,"method":"ping"}{}` + "\n", parse},
		"a huge line": {
			`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 17<<20) + "\"}\n",
			parse + `"message":"the line is larger than 16 MiB; send less"}`,
		},
		"no handshake": {
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"meerkat_run","arguments":{"prompt":"x"}}}` + "\n",
			`"id":1,"error"`,
		},
		"another version": {`{"jsonrpc":"1.0","id":1,"method":"ping"}` + "\n", invalid},
		"a number":        {"17\n", invalid},
		"an empty batch":  {"[]\n", invalid},
		"nothing":         {"\n\r\n", ""},
		"a null id":       {`{"jsonrpc":"2.0","id":null,"method":"ping"}` + "\n", ""},
		"an open answer":  {`{"jsonrpc":"2.0","id":77,"result":{}}` + "\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			in, out, ended := startServer(t, []string{"HOME=" + dir}, "mcp-server", "--demo")
			const hello = `{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
			go func() { _, _ = io.WriteString(in, c.text+hello+"\n") }()
			lines, got := bufio.NewReader(out), ""
			for !strings.Contains(got, `"id":2,"result"`) {
				line, err := lines.ReadString('\n')
				if err != nil {
					t.Fatalf("%v after %.2000s", err, got)
				}
				got += line
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("answered: %.2000s", got)
			}
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":3,"meth`)
			if code, stderr := ended(); code != 0 || stderr != "" {
				t.Errorf("exit code %d: %.2000s", code, stderr)
			}
			store := jsonl.New(filepath.Join(dir, ".local", "share", "rkat", "demo"), nil)
			if list, err := store.List(
				t.Context(), session.Filter{},
			); err != nil && !os.IsNotExist(err) || len(list) > 0 {
				t.Errorf("sessions %v, %v", list, err)
			}
		})
	}
}
