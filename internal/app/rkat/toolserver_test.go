package rkat

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// toolServer is an MCP server on stdin and stdout whose tools are named after
// what they do: answer, wait, crash, flood, bytes. Its argument says how it
// behaves at the start: well, late, garbage, lies or ends; a stubborn one does not end
// when it is asked to.
func toolServer() {
	mode := os.Args[1]
	switch mode {
	case "late":
		announce()
		time.Sleep(time.Hour) // until it is killed
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		defer time.Sleep(time.Hour)
	case "garbage":
		fmt.Println("Welcome to the tool server!")
	case "ends":
		fmt.Fprintln(os.Stderr, "cannot read its own settings")
		os.Exit(3) //nolint:gocritic // the deferred call is another mode's
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var request struct {
			ID     json.RawMessage
			Method string
			Params struct {
				ProtocolVersion string
				Name            string
				Arguments       struct{ Text string }
			}
		}
		if json.Unmarshal(in.Bytes(), &request) != nil || request.ID == nil {
			continue
		}
		switch request.Method {
		case "initialize":
			reply(
				request.ID,
				`{"protocolVersion":"`+request.Params.ProtocolVersion+
					`","capabilities":{"tools":{}},"serverInfo":{"name":"toolserver","version":"1"}}`,
			)
		case "tools/list":
			reply(request.ID, `{"tools":[`+offered(mode)+`]}`)
		case "tools/call":
			perform(request.ID, request.Params.Name, request.Params.Arguments.Text)
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", request.ID)
		}
	}
}

// announce makes the file that CALLED names. A pipe that has this name stays open, so
// that its reader sees the end of this process.
func announce() {
	if path := os.Getenv("CALLED"); path != "" {
		called, _ = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
		_, _ = called.WriteString("!")
	}
}

var called *os.File

func reply(id json.RawMessage, result string) {
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
}

func offered(mode string) string {
	schema := `{"type":"object","properties":{"text":{"type":"string"}}}`
	if mode == "lies" {
		schema = `{"type":"object","properties":{"text":{"type":"nonsense"}}}`
	}
	var tools []string
	for _, name := range []string{"answer", "wait", "crash", "flood", "bytes"} {
		if name != "answer" || mode != "lies" {
			tools = append(tools, `{"name":"`+name+`","inputSchema":`+schema+`}`)
		}
	}
	return strings.Join(append(tools, `{"name":"plain","inputSchema":{"type":"object"}}`), ",")
}

func perform(id json.RawMessage, name, text string) {
	switch name {
	case "wait":
		announce()
		return // never answers; the next request is read
	case "crash":
		os.Exit(4)
	case "flood":
		text = strings.Repeat("flood ", 4<<20)
	case "bytes":
		text = "a\xffb\xc3"
	}
	encoded, _ := json.Marshal(text)
	if name == "bytes" { // json.Marshal would mend it
		encoded = []byte("\"" + text + "\"")
	}
	reply(id, `{"content":[{"type":"text","text":`+string(encoded)+`}]}`)
}
