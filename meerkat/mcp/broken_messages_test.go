package mcp_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// brokenServer is a server in shell: it answers the handshake and the list of tools as
// it should, and a call with what ANSWER says.
const brokenServer = `
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
  *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"1"}}}\n' "$id" ;;
  *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
  *'"tools/call"'*) ID=$id; eval "$ANSWER" ;;
  esac
done`

// brokenAnswers lists what a server does with a call; want is a part of the result.
var brokenAnswers = []struct{ name, answer, want string }{
	{"cut JSON", `printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[\n' "$ID"`, "not JSON-RPC"},
	{
		"a quote too few",
		`printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"a}]}}\n' "$ID"`, "not JSON-RPC",
	},
	{"another version", `printf '{"jsonrpc":"1.0","id":%s,"result":{"content":[]}}\n' "$ID"`, "not JSON-RPC"},
	{"no version", `printf '{"id":%s,"result":{"content":[]}}\n' "$ID"`, "not JSON-RPC"},
	{"a batch", `printf '[{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}]\n' "$ID"`, "not JSON-RPC"},
	{
		"two messages on one line",
		`printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}{"jsonrpc":"2.0"}\n' "$ID"`, "not JSON-RPC",
	},
	{"a trailing comma", `printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[],}}\n' "$ID"`, "not JSON-RPC"},
	{"a bare NaN", `printf '{"jsonrpc":"2.0","id":%s,"result":NaN}\n' "$ID"`, "not JSON-RPC"},
	{"a result that is a number", `printf '{"jsonrpc":"2.0","id":%s,"result":7}\n' "$ID"`, ""},
	{"content that is a text", `printf '{"jsonrpc":"2.0","id":%s,"result":{"content":"a"}}\n' "$ID"`, ""},
	{
		"content of an unknown type",
		`printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"hologram"}]}}\n' "$ID"`, "",
	},
	{"an error without a message", `printf '{"jsonrpc":"2.0","id":%s,"error":{}}\n' "$ID"`, ""},
	{
		"result and error",
		`printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[]},"error":{"code":1,"message":"m"}}\n' "$ID"`, "",
	},
	{"the end", `exit 3`, "ended"},
	{"a kill of itself", `kill -9 $$`, "ended"},
	{"stdout closed", `exec 1>&-; sleep 60`, "ended"},
	{"a message without an end", `head -c 300000 /dev/zero | tr '\0' a`, "more than"},
	{
		"endless lines that are no messages",
		`yes "this is no message at all, only noise" | head -c 60000000; sleep 60`, "are not messages",
	},
	{
		"log lines before the answer",
		`printf 'log\n{"level":"info"}\nsent {"jsonrpc": x\n'; printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"fine"}]}}\n' "$ID"`,
		"fine",
	},
	{
		"control characters",
		`printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"a\\u001b[2J"}]}}\n' "$ID"`,
		"a\x1b[2J",
	},
	{"nothing within its time", `sleep 60`, "timed out"},
}

// TestBrokenAnswers holds that a call ends at once, whatever a server answers.
func TestBrokenAnswers(t *testing.T) {
	for _, mode := range brokenAnswers {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			servers := []mcp.Server{{
				Name: "s", Command: "sh", Args: []string{"-c", brokenServer},
				Env: map[string]string{"ANSWER": mode.answer}, StartTimeout: time.Minute, Protocol: "2025-06-18",
			}}
			router, err := mcp.Open(t.Context(), servers, mcp.Options{
				Environ: os.Environ(), MaxMessage: 200_000, Grace: 100 * time.Millisecond,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer router.Close()
			limit := time.Minute
			if mode.want == "timed out" {
				limit = time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			result := router.Dispatch(ctx, transcript.ToolCall{
				ID: "call", Name: router.Defs()[0].Name, Args: json.RawMessage(`{}`),
			})
			if isLate := mode.want == "timed out"; isLate != (ctx.Err() != nil) || !isLate &&
				!strings.Contains(result.Content, mode.want) {
				t.Errorf("%v: %.200q, want %q", ctx.Err(), result.Content, mode.want)
			}
		})
	}
}
