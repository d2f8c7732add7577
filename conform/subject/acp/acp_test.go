package acp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/isolate"
	_ "github.com/meerkat-go/conformance/wires/all"
)

// TestSmallAgent runs what the protocol adds to one prompt: our tools, several turns,
// session/load in another process, session/cancel in each place, permissions.
func TestSmallAgent(t *testing.T) {
	agent, err := New(t.Context(), Config{Args: ownProgram(t, "be-agent"), Providers: []string{"anthropic"}})
	if err != nil {
		t.Fatal(err)
	}
	if about := agent.About(); about.Level() != "L4" || about.Name != "small" || about.Version != "0.1" ||
		about.Kind != "acp" {
		t.Errorf("%+v", about)
	}
	scenarios := []string{"thinking-tool-loop", "several-turns", "resume-tool-loop", "interrupt-in-text",
		"interrupt-in-thinking", "interrupt-in-call"}
	out, err := harness.Run(t.Context(), harness.Options{
		Config:  harness.Config{Subject: agent, Tools: ownProgram(t, "be-tools"), CaseTimeout: time.Minute},
		Sources: []evidence.Source{evidence.SourceSimulator}, Ingress: []string{"base-url"},
		Filter: "anthropic && (" + strings.Join(scenarios, " || ") + ")", Workers: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range out.Results {
		if r.Verdict == report.Fail {
			t.Errorf("%+v", r)
		}
	}
	for _, c := range out.Cases {
		if c.Verdict != report.Pass || len(c.Deviations) > 0 {
			t.Errorf("%s: %s %q %s", c.Name, c.Verdict, c.Deviations, c.Reason)
		}
	}
	if len(out.Cases) != len(scenarios) {
		t.Errorf("%d cases, want %d", len(out.Cases), len(scenarios))
	}
}

// beBad is an agent that does one thing wrong.
func beBad(how string) {
	in, out := bufio.NewScanner(os.Stdin), bufio.NewWriter(os.Stdout)
	hello := func(version int) {
		in.Scan()
		fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":%d,"agentCapabilities":{}}}`+
			"\n", version)
		in.Scan()
	}
	defer func() { _ = out.Flush() }()
	switch how {
	case "dies":
		fmt.Fprintln(os.Stderr, "no licence")
	case "dies later":
		hello(1)
	case "garbage":
		in.Scan()
		for range 2000 {
			fmt.Fprintln(out, "<html>")
		}
	case "floods":
		in.Scan()
		for range maxMessages + 1 {
			fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"session/update","params":{}}`)
		}
	case "one long line":
		in.Scan()
		chunk := bytes.Repeat([]byte("x"), 1<<20)
		for range 100 {
			_, _ = out.Write(chunk)
		}
	case "silent":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "closes":
		_ = os.Stdout.Close()
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "closes input":
		in.Scan()
		_ = os.Stdin.Close()
		fmt.Println(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`)
		time.Sleep(time.Minute) // it does not end with its input; it is ended
	case "version":
		hello(99)
	case "refuses":
		hello(1)
		fmt.Println(`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Internal error","data":{"details":"disk full"}}}`)
		in.Scan()
	case "login":
		in.Scan()
		fmt.Println(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"authMethods":[{"id":"browser","name":"Log in"}]}}`)
		in.Scan()
		fmt.Println(`{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"Authentication required"}}`)
		in.Scan()
	case "no session":
		hello(1)
		fmt.Println(`{"jsonrpc":"2.0","id":2,"result":"yes"}`)
		in.Scan()
	}
}

func TestBadAgents(t *testing.T) {
	for how, want := range map[string]string{
		"dies":          "ended with exit code 7 before it answered initialize",
		"dies later":    "ended with exit code 7 before it answered session/new",
		"garbage":       `more than 1000 lines that are not JSON-RPC messages, the first was "<html>"`,
		"floods":        "more than 200000 messages",
		"one long line": "a message of more than 8 MiB",
		"silent":        "did not answer initialize within 3s",
		"closes":        "did not answer initialize within 3s",
		"closes input":  "closed its standard input before it answered session/new",
		"version":       "speaks version 99 of the Agent Client Protocol, conform speaks 1",
		"refuses":       "refused session/new: Internal error: disk full",
		"login":         `asks its user to log in and offers no way with an API key (offered: "browser")`,
		"no session":    `answered session/new with "\"yes\""`,
	} {
		t.Run(how, func(t *testing.T) {
			timeout := time.Minute
			if how == "silent" || how == "closes" {
				timeout = 3 * time.Second
			}
			_, err := New(t.Context(), Config{Args: ownProgram(t, "be-bad", how), AnswerTimeout: timeout})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}

func TestPermissions(t *testing.T) {
	offered := []permissionOption{{"a", "reject_always"}, {"b", "allow_always"}, {"c", "allow_once"}}
	for _, c := range []struct {
		policy  Permissions
		offered []permissionOption
		want    string
	}{
		{Allow, offered, "c"},
		{Allow, offered[:2], "b"},
		{Allow, offered[:1], ""},
		{Reject, offered, "a"},
		{Reject, offered[1:], ""},
	} {
		if got, ok := c.policy.choosePermission(c.offered); got != c.want || ok != (c.want != "") {
			t.Errorf("%s of %v: %q", c.policy, c.offered, got)
		}
	}
}

// FuzzMessages holds that what is handed to the SDK are whole lines with a message, and
// that the reader ends.
func FuzzMessages(f *testing.F) {
	f.Add("banner\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n")
	f.Add("\n\n{\"method\":\"x\"}")
	f.Add("{\"method\":3}\nnull\n[]\n{\"error\":{}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := newMessageReader(strings.NewReader(text))
		close(r.closed)
		data, err := io.ReadAll(r)
		if faulty := (*isolate.OverflowError)(nil); err != nil && !errors.As(err, &faulty) {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if !strings.HasPrefix(strings.TrimSpace(line), "{") || !strings.HasSuffix(line, "\n") {
				t.Fatalf("handed over %q", line)
			}
		}
	})
}
