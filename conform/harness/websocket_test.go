package harness

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	coder "github.com/coder/websocket"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/mutate"
	"github.com/meerkat-go/conformance/conform/report"
)

// socketAgent is a complete agent for OpenAI's Responses API over WebSockets. reconnect
// makes it use a new one for each request: "whole" with the whole input, "naive" with an
// increment, and with the whole input once that is refused.
type socketAgent struct{ reconnect string }

func (a socketAgent) main(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer, env []string) int {
	if err := a.run(ctx, args, stdout, env); err != nil {
		fmt.Fprintln(stderr, "socketAgent:", err)
		return 1
	}
	return 0
}

// socketTurn is one message of the agent, without what all of them hold.
type socketTurn struct {
	Type     string           `json:"type"`
	Model    string           `json:"model"`
	System   string           `json:"instructions"`
	Store    bool             `json:"store"`
	Include  []string         `json:"include"`
	Effort   map[string]any   `json:"reasoning"`
	Tools    []map[string]any `json:"tools"`
	Previous string           `json:"previous_response_id,omitempty"`
	Input    []any            `json:"input"`
}

// socketReply is the end of a reply.
type socketReply struct {
	Type     string
	Error    struct{ Code string }
	Response struct {
		ID     string
		Output []map[string]any
	}
}

func (a socketAgent) run(ctx context.Context, args []string, stdout io.Writer, env []string) error {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	model, system := set.String("model", "", ""), set.String("system", "", "")
	for _, name := range []string{"session-dir", "output", "effort", "conform-extra"} {
		set.String(name, "", "")
	}
	set.Bool("conform-tools", false, "")
	at := slices.IndexFunc(args, func(s string) bool { return strings.HasPrefix(s, "--") })
	if err := set.Parse(args[at:]); err != nil {
		return err
	}
	client, err := clientFor(env)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	turn := socketTurn{Type: "response.create", Model: *model, System: *system,
		Include: []string{"reasoning.encrypted_content"},
		Effort:  map[string]any{"effort": "high", "summary": "auto"},
		Tools: []map[string]any{{"type": "function", "name": "conform_echo", "strict": false,
			"parameters": map[string]any{"type": "object",
				"properties": map[string]any{"text": map[string]any{"type": "string"}}, "required": []string{"text"}}}}}
	prompt := map[string]any{"role": "user", "content": strings.Join(args[1:at], " ")}
	said, err := a.converse(ctx, client, turn, prompt)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(map[string]any{"session_id": "only", "said": said})
}

// converse asks until no tool is called, and returns the last reply.
func (a socketAgent) converse(ctx context.Context, client *http.Client, turn socketTurn,
	prompt any) ([]map[string]any, error) {
	history, increment := []any{prompt}, []any{prompt}
	var conn *coder.Conn
	defer func() { _ = closeSocket(conn) }()
	for {
		if conn == nil || a.reconnect != "" {
			if err := closeSocket(conn); err != nil {
				return nil, err
			}
			var err error
			if conn, _, err = coder.Dial(ctx, "wss://api.openai.com/v1/responses",
				&coder.DialOptions{HTTPClient: client,
					HTTPHeader: http.Header{"Authorization": {"Bearer conform-made-up-key-openai"}}}); err != nil {
				return nil, err
			}
			conn.SetReadLimit(-1)
		}
		if turn.Input = increment; turn.Previous == "" || a.reconnect == "whole" {
			turn.Previous, turn.Input = "", history
		}
		reply, err := ask(ctx, conn, turn)
		if reply.Error.Code == "previous_response_not_found" {
			turn.Previous = ""
			continue
		}
		if err != nil || reply.Type != "response.completed" {
			return nil, errors.Join(err, fmt.Errorf("the reply ended with %s %s", reply.Type, reply.Error.Code))
		}
		increment = nil
		for _, item := range reply.Response.Output {
			history = append(history, item)
			if item["type"] == "function_call" {
				var args struct{ Text string }
				_ = json.Unmarshal([]byte(item["arguments"].(string)), &args) // of the scenario
				increment = append(increment, map[string]any{"type": "function_call_output", "call_id": item["call_id"],
					"output": args.Text})
			}
		}
		if len(increment) == 0 {
			return reply.Response.Output, nil
		}
		history, turn.Previous = append(history, increment...), reply.Response.ID
	}
}

func closeSocket(conn *coder.Conn) error {
	if conn == nil {
		return nil
	}
	return conn.Close(coder.StatusNormalClosure, "")
}

// ask sends one message and returns the end of the reply.
func ask(ctx context.Context, conn *coder.Conn, turn socketTurn) (reply socketReply, err error) {
	message, err := json.Marshal(turn)
	if err != nil {
		return reply, err
	}
	if err := conn.Write(ctx, coder.MessageText, message); err != nil {
		return reply, err
	}
	for {
		_, event, err := conn.Read(ctx)
		if err != nil {
			return reply, err
		}
		if err := json.Unmarshal(event, &reply); err != nil {
			return reply, err
		}
		switch reply.Type {
		case "error", "response.completed", "response.incomplete", "response.failed":
			return reply, nil
		}
	}
}

// TestWebSocketSubject holds that an agent which speaks over WebSockets is judged by each
// of its messages: what it does wrong there, or what is changed on the wire, fails by the
// requirement that is broken, and nothing else does.
func TestWebSocketSubject(t *testing.T) {
	for name, c := range map[string]struct {
		agent  socketAgent
		mutant string
		seen   []string // that must have been observed
		fails  string
	}{
		"one connection":  {seen: []string{"WSK-001/own-response", "WSK-002/increment"}},
		"new connections": {agent: socketAgent{"whole"}, seen: []string{"WSK-003/whole-input"}},
		"a lost response": {agent: socketAgent{"naive"}, seen: []string{"WSK-003/whole-input", "WSK-004/not-found"},
			fails: "WSK-001"},
		"history twice": {mutant: "history-beside-id", fails: "WSK-002"},
		"an increment":  {agent: socketAgent{"whole"}, mutant: "increment-on-new-socket", fails: "WSK-003"},
	} {
		t.Run(name, func(t *testing.T) {
			results := judgeSocket(t, c.agent, c.mutant)
			for _, r := range results {
				if slices.Contains(c.seen, r.Check) && r.Observed == 0 {
					t.Errorf("%s: was not observed", r.Check)
				}
				if strings.HasPrefix(r.Check, "WSK") && r.Verdict == report.Fail && r.Requirement != c.fails {
					t.Errorf("%s: %v", r.Check, r.Findings)
				}
			}
			if c.fails != "" && !slices.ContainsFunc(results,
				func(r report.Result) bool { return r.Requirement == c.fails && r.Verdict == report.Fail }) {
				t.Errorf("%s does not fail", c.fails)
			}
		})
	}
}

// judgeSocket runs the agent, with the change of a mutant on the wire, "" for none.
func judgeSocket(t *testing.T, agent socketAgent, change string) []report.Result {
	t.Helper()
	config := Config{Subject: InProcess(agent.main, "", nil)}
	for _, m := range mutate.All() {
		if m.ID == change {
			config.Alter = Alteration(m.Apply)
		}
	}
	if change != "" && config.Alter == nil {
		t.Fatalf("%s: no such mutant", change)
	}
	runner, err := NewRunner(config)
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	run := runner.Run(t.Context(),
		Permutation{Case: findCase(t, "thinking-tool-loop/openai"), Source: evidence.SourceSimulator})
	if run.Err != nil || change == "" && len(run.Deviations) > 0 {
		t.Fatalf("%v %q", run.Err, run.Deviations)
	}
	for _, x := range run.Evidence.Exchanges {
		if x.WebSocket == 0 || x.Request.Method != http.MethodPost ||
			x.IsOwnHost() && x.Provenance == evidence.ProvenanceLive {
			t.Errorf("exchange %d: %s by WebSocket %d, %s", x.Index, x.Request.Method, x.WebSocket, x.Provenance)
		}
	}
	rules, err := Rules()
	if err != nil {
		t.Fatal(err)
	}
	return report.Judge(rules, run.Evidence)
}

// TestWebSocketsCanBeRefused holds that an agent gets the status after which clients go on
// over HTTP.
func TestWebSocketsCanBeRefused(t *testing.T) {
	runner, err := NewRunner(Config{Subject: InProcess(socketAgent{}.main, "", nil), RefuseWebSockets: true})
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	run := runner.Run(t.Context(),
		Permutation{Case: findCase(t, "thinking-tool-loop/openai"), Source: evidence.SourceSimulator})
	if said := strings.Join(run.Deviations, "\n"); !strings.Contains(said, "426") || len(run.Evidence.Exchanges) != 0 {
		t.Errorf("%d exchanges, %q", len(run.Evidence.Exchanges), said)
	}
}
