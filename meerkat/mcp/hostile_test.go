package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// mode is the variable that makes the test binary a server of that mode.
const mode = "MCP_TEST_SERVER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(mode); kind != "" {
		serve(kind)
		return
	}
	goleak.VerifyTestMain(m)
}

// peer is a server without manners, written without the SDK.
type peer struct {
	in  *bufio.Reader
	out *bufio.Writer
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (p peer) line(format string, args ...any) {
	fmt.Fprintf(p.out, format+"\n", args...)
	if p.out.Flush() != nil {
		os.Exit(0)
	}
}

func (p peer) reply(m message, result string) {
	p.line(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (p peer) read() message {
	for {
		line, err := p.in.ReadString('\n')
		if err != nil && os.Getenv(mode) == "deaf" {
			time.Sleep(time.Hour)
		}
		if err != nil {
			os.Exit(0)
		}
		var m message
		if json.Unmarshal([]byte(line), &m) == nil {
			return m
		}
	}
}

func text(s string) string {
	quoted, _ := json.Marshal(s)
	return fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, quoted)
}

const plainTools = `{"tools":[{"name":"run","description":"runs","inputSchema":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer","maximum":9007199254740993}}}}]}`

// serve plays a server: manners of the handshake, then what the mode is about.
func serve(kind string) {
	p := peer{bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)}
	switch kind {
	case "sdk":
		if err := sdkServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		return
	case "hang":
		fmt.Fprintln(os.Stderr, "waiting for a database")
		time.Sleep(time.Hour)
	case "die":
		fmt.Fprintln(os.Stderr, "no token "+os.Getenv("TOKEN"))
		os.Exit(3)
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command("sleep", "3600")
		child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			os.Exit(1)
		}
		_ = os.WriteFile(os.Getenv("MARK"), fmt.Append(nil, child.Process.Pid), 0o600)
	case "noise":
		p.line("Welcome to the server!\n\n{\"level\":\"info\",\"msg\":\"up\"}\n[1,2]\nnull")
	}
	note(kind)
	for {
		m := p.read()
		switch m.Method {
		case "initialize":
			p.reply(
				m,
				`{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"},"instructions":"be kind"}`,
			)
		case "tools/list":
			p.list(kind, m)
		case "tools/call":
			p.call(kind, m)
		case "notifications/cancelled":
			note("cancelled")
		case "":
		default:
			if m.ID != nil {
				p.line(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no %s"}}`, m.ID, m.Method)
			}
		}
	}
}

// note adds a line to the file that the test looks at.
func note(what string) {
	if f, err := os.OpenFile(os.Getenv("NOTES"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
		fmt.Fprintln(f, what)
		_ = f.Close()
	}
}

var lies = []string{
	`{"name":"good","inputSchema":{"type":"object"}}`,
	`{"name":"none"}`,
	`{"name":"null","inputSchema":null}`,
	`{"name":"list","inputSchema":[]}`,
	`{"name":"text","inputSchema":{"type":"string"}}`,
	`{"name":"untyped","inputSchema":{"properties":{}}}`,
	`{"name":"wrong","inputSchema":{"type":"object","properties":5}}`,
	`{"name":"circle","inputSchema":{"type":"object","allOf":[{"$ref":"#"}]}}`,
	`{"name":"","inputSchema":{"type":"object"}}`,
	`{"name":"good","inputSchema":{"type":"object"}}`,
	`{"name":"task","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`,
	`{"name":"remote","inputSchema":{"type":"object","$ref":"http://127.0.0.1:1/x.json"}}`,
	`{"name":"wörse than/that","inputSchema":{"type":"object"}}`,
}

func (p peer) list(kind string, m message) {
	var params struct{ Cursor string }
	_ = json.Unmarshal(m.Params, &params)
	switch {
	case kind == "lies":
		p.reply(m, `{"tools":[`+strings.Join(lies, ",")+`]}`)
	case kind == "garbled":
		p.reply(m, `{"tools":[{"name":7,"inputSchema":{"type":"object"}}]}`)
	case kind == "endless":
		p.reply(m, `{"tools":[],"nextCursor":"again"}`)
	case kind == "pages" && params.Cursor == "":
		p.reply(m, `{"tools":[{"name":"zeta","inputSchema":{"type":"object"}}],"nextCursor":"p2"}`)
	case kind == "pages" && params.Cursor == "p2":
		p.reply(m, `{"tools":[{"name":"alpha","inputSchema":{"type":"object"}}]}`)
	case kind == "changes" && grown:
		p.reply(
			m,
			`{"tools":[{"name":"run","description":"runs faster","inputSchema":{"type":"object"}},{"name":"new","inputSchema":{"type":"object"}}]}`,
		)
	case kind == "changes":
		p.reply(
			m,
			`{"tools":[{"name":"run","description":"runs","inputSchema":{"type":"object"}},{"name":"old","inputSchema":{"type":"object"}}]}`,
		)
	default:
		p.reply(m, plainTools)
	}
}

var grown bool

// answers are the results of tools/call that are wrong or rich, by mode.
var answers = map[string]string{
	"types":   `{"content":"no list"}`,
	"kinds":   `{"content":[{"type":"hologram"}]}`,
	"isError": `{"content":[],"isError":true}`,
	"rich": `{"content":[{"type":"text","text":"see"},
		{"type":"image","mimeType":"image/jpeg","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="},
		{"type":"image","mimeType":"image/svg+xml","data":"PHN2Zy8+"},
		{"type":"audio","mimeType":"audio/wav","data":"UklGRg=="},
		{"type":"resource","resource":{"uri":"file:///a","text":"body"}},
		{"type":"resource","resource":{"uri":"file:///b","mimeType":"application/pdf","blob":"JVBERg=="}},
		{"type":"resource_link","uri":"file:///c","name":"c","mimeType":"text/plain"}],
		"structuredContent":{"z":1.0,"a":9007199254740993}}`,
	"twice": `{"content":[{"type":"text","text":"{\"b\":2,\"a\":1}"}],"structuredContent":{"a":1,"b":2}}`,
}

func (p peer) call(kind string, m message) {
	note("call")
	switch kind {
	case "crash":
		os.Exit(7)
	case "brief":
		p.reply(m, text("done"))
		note("leaving")
		os.Exit(0)
	case "noise":
		p.line("DEBUG handling a call {")
		p.reply(m, text("done"))
	case "huge":
		p.line(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, text(strings.Repeat("x", 2<<20)))
	case "flood":
		for {
			p.line("%s", strings.Repeat("noise ", 10_000))
		}
	case "slow", "deaf":
		note("waiting")
	case "env":
		fmt.Fprintln(os.Stderr, "my token is "+os.Getenv("TOKEN"))
		p.reply(m, text(strings.Join(os.Environ(), "\n")))
	case "asks":
		p.reply(m, text(p.ask()))
	case "changes":
		grown = true
		p.line(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		p.reply(m, text("changed"))
	case "progress":
		var params struct {
			Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
		}
		_ = json.Unmarshal(m.Params, &params)
		p.line(
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"total":2,"message":"half"}}`,
			params.Meta.ProgressToken,
		)
		p.line(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"nobody's","progress":1}}`)
		p.read() // a ping: what came before it has been handled
		p.reply(m, text("done"))
	case "echo":
		p.reply(m, text(string(m.Params)))
	default:
		if answer, ok := answers[kind]; ok {
			p.reply(m, strings.Join(strings.Split(answer, "\n"), " "))
			return
		}
		p.reply(m, text("done"))
	}
}

// ask asks the client for what it does not offer, and returns what it said.
func (p peer) ask() string {
	var said []string
	for i, method := range []string{"sampling/createMessage", "elicitation/create", "roots/list"} {
		p.line(
			`{"jsonrpc":"2.0","id":"q%d","method":"%s","params":{"messages":[],"maxTokens":1,"message":"?","mode":"form","requestedSchema":{"type":"object","properties":{}}}}`,
			i, method,
		)
		m := p.read()
		said = append(said, method+" "+string(m.Result)+string(m.Error))
	}
	return strings.Join(said, "\n")
}
