package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/rkat"
	"github.com/meerkat-go/conformance/internal/app/rkat/backends"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
)

// The scenes play rkat as its users have it: a process of its own that is
// started again, asks a strict provider and runs the tools of an MCP server,
// which is one more process. All three are this program.

// commandLine is rkat's main.
func commandLine() {
	cli.MainWithin(rkat.Patience, rkat.Backends{
		Stores: map[string]rkat.OpenStore{"sqlite": backends.SQLite}, Metrics: backends.Metrics, Spans: backends.Spans,
		Collector: backends.Collector, Page: backends.Page, REST: backends.REST,
		Database: backends.Database, ExamineDatabase: backends.ExamineDatabase,
	}.Run)
}

// deskAddress names the variable that tells tools where their desk is.
const deskAddress = "MEERKAT_E2E_DESK"

type words struct {
	Text string `json:"text"`
}

// toolServer is a server whose tools do what their desk says.
func toolServer() {
	if err := newToolServer(ask).Run(context.Background(), &sdk.StdioTransport{}); err != nil &&
		!errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
	}
}

// newToolServer returns a server of the official SDK. Its tools answer what do says; what
// is the name of a tool and its text.
func newToolServer(do func(ctx context.Context, what string) (string, error)) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "scene", Version: "1"}, nil)
	for _, t := range []*sdk.Tool{
		{Name: "conform_echo", Description: "Returns the text."},
		{Name: "pay", Description: "Pays somebody. To do it twice is wrong."},
		{Name: "look", Description: "Looks at something.",
			Annotations: &sdk.ToolAnnotations{IdempotentHint: true, ReadOnlyHint: true}},
	} {
		sdk.AddTool(s, t, func(ctx context.Context, _ *sdk.CallToolRequest, in words) (*sdk.CallToolResult,
			any, error) {
			answer, err := do(ctx, t.Name+" "+in.Text)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: answer}}}, nil, err
		})
	}
	return s
}

// ask tells the desk that a tool runs and waits for what it is to answer.
func ask(ctx context.Context, what string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", os.Getenv(deskAddress))
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := fmt.Fprintln(conn, what); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	return string(answer), err
}

// desk is where every run of a tool is known, and what it answers.
type desk struct {
	address string
	began   chan string // each run of a tool that is to block
	free    chan struct{}
	mu      sync.Mutex
	ran     []string
	blocks  map[string]bool // tools that do not answer before a release
}

func newDesk(t *testing.T, blocks ...string) *desk {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{address: l.Addr().String(), began: make(chan string, 100), free: make(chan struct{}),
		blocks: map[string]bool{}}
	for _, b := range blocks {
		d.blocks[b] = true
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go d.answer(conn)
		}
	}()
	return d
}

func (d *desk) answer(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	line, _ := bufio.NewReader(conn).ReadString('\n')
	line = strings.TrimSpace(line)
	name, text, _ := strings.Cut(line, " ")
	d.mu.Lock()
	d.ran = append(d.ran, line)
	blocked, free := d.blocks[name], d.free
	d.mu.Unlock()
	if blocked {
		d.began <- line
		<-free
	}
	_, _ = fmt.Fprintf(conn, "%s has %s", name, text)
}

// release lets the tools that block answer, those to come as well.
func (d *desk) release() { close(d.free) }

// block makes tools block again after a release.
func (d *desk) block() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free = make(chan struct{})
}

// runs are the tools that ran so far.
func (d *desk) runs() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.ran, ", ")
}

// strict is a provider that refuses what is wrong and keeps what it was asked.
type strict struct {
	*httptest.Server
	handler http.Handler
	arrived chan struct{} // each request
	mu      sync.Mutex
	bodies  [][]byte
	refused []string
}

func newStrict(t *testing.T, turns ...specs.Turn) *strict {
	t.Helper()
	var script *specs.Scenario
	if turns != nil {
		script = &specs.Scenario{Name: t.Name(), Turns: turns}
		for _, m := range leads {
			script.Targets = append(script.Targets, specs.Target{Provider: catalog.ProviderOf(m), Model: m})
		}
	}
	s := &strict{arrived: make(chan struct{}, 1000),
		handler: simulator.New(simulator.Config{Scenario: script, Seed: "scene", Level: rule.Strict})}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func (s *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	s.mu.Lock()
	s.bodies = append(s.bodies, body)
	s.mu.Unlock()
	s.arrived <- struct{}{}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.handler.ServeHTTP(&watched{ResponseWriter: w, refused: func(what string) {
		s.mu.Lock()
		s.refused = append(s.refused, what)
		s.mu.Unlock()
	}}, r)
}

// watched notices a refusal.
type watched struct {
	http.ResponseWriter
	refused func(string)
	failed  bool
}

func (w *watched) WriteHeader(status int) {
	w.failed = status != http.StatusOK
	w.ResponseWriter.WriteHeader(status)
}

func (w *watched) Write(p []byte) (int, error) {
	if w.failed {
		w.refused(string(p))
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// asked are the requests since the first n, as they came.
func (s *strict) asked(n int) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][]byte(nil), s.bodies[n:]...)
}

// leads are the models of the scenes, one of each provider.
var leads = []string{"claude-opus-4-6", "gpt-5.2", "gemini-3-flash-preview"}

// stage is where a scene is played.
type stage struct {
	*testing.T
	provider *strict
	desk     *desk
	dir      string
}

func newStage(t *testing.T, p *strict, d *desk) *stage {
	t.Helper()
	s := &stage{T: t, provider: p, desk: d, dir: t.TempDir()}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"srv": map[string]any{
		"command": exe, "env": map[string]string{served: "tools", deskAddress: d.address},
	}}})
	if err == nil {
		err = os.WriteFile(s.path("mcp.json"), config, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	// A refusal is wrong in every scene.
	t.Cleanup(func() {
		if p.mu.Lock(); len(p.refused) > 0 {
			t.Errorf("the provider refused: %s", p.refused)
		}
		p.mu.Unlock()
	})
	return s
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

// command is rkat with the tools of the desk.
func (s *stage) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.Context(), "rkat", append(args, "--mcp", s.path("mcp.json"))...)
	cmd.Dir = s.dir
	cmd.Env = []string{
		"HOME=" + s.dir, "PATH=" + os.Getenv("PATH"), "RKAT_SESSION_DIR=" + s.path("sessions"),
		"ANTHROPIC_API_KEY=test-key", "OPENAI_API_KEY=test-key", "GEMINI_API_KEY=test-key",
		"ANTHROPIC_BASE_URL=" + s.provider.URL + "/anthropic",
		"OPENAI_BASE_URL=" + s.provider.URL + "/openai/v1", "GOOGLE_GEMINI_BASE_URL=" + s.provider.URL + "/gemini",
	}
	return cmd
}

// said is what a process left.
type said struct {
	code           int
	stdout, stderr string
}

// rkat runs a command to its end and wants an exit code.
func (s *stage) rkat(want int, args ...string) said {
	s.Helper()
	var out, errs bytes.Buffer
	cmd := s.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	got := said{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	if got.code != want {
		s.Fatalf("rkat %s: exit %d, not %d: %v\n%s%s", strings.Join(args, " "), got.code, want, err, got.stdout,
			got.stderr)
	}
	return got
}

// aside starts a command that somebody will end.
func (s *stage) aside(args ...string) (cmd *exec.Cmd, out io.Reader) {
	s.Helper()
	cmd = s.command(args...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, out
}

// ends ends a process by a signal and returns its exit code, -1 for a kill.
func (s *stage) ends(cmd *exec.Cmd, by os.Signal) int {
	s.Helper()
	if err := cmd.Process.Signal(by); err != nil {
		s.Fatal(err)
	}
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// call is a block that calls a tool.
func call(role, fill string) specs.Block {
	return specs.Block{Kind: specs.KindCall, Role: role, Fill: fill}
}

func thinking(text string) specs.Block {
	return specs.Block{Kind: specs.KindThinking, Parts: []string{text}}
}

func text(text string) specs.Block { return specs.Block{Kind: specs.KindText, Text: text} }

func turn(emit ...specs.Block) specs.Turn { return specs.Turn{Emit: emit} }

func stall(after int) *specs.After {
	a := specs.After{}
	for _, m := range leads {
		a[catalog.ProviderOf(m)] = after
	}
	return &a
}
