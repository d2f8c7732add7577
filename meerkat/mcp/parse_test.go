package mcp

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// legal is the form of a name that all three providers accept.
var legal = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

func TestName(t *testing.T) {
	long := strings.Repeat("x", 70)
	for want, pair := range map[string][2]string{
		"fs__read_file": {"fs", "read_file"},
		"a__b__c":       {"a", "b__c"},
		"a___b":         {"a", "_b"},
		"my-fs__1":      {"my-fs", "1"},
	} {
		if got := offeredName(pair[0], pair[1]); got != want {
			t.Errorf("%v is %s; want %s", pair, got, want)
		}
	}
	for start, pair := range map[string][2]string{
		"a__b__c-": {"a__b", "c"}, "a____b-": {"a_", "_b"}, "_1__x-": {"1", "x"}, "fs__a_b-": {"fs", "a.b"},
		"fs__" + long[:47] + "-": {"fs", long}, "fs__x-0123456789ab-": {"fs", "x-0123456789ab"},
		"w_rse__-": {"w/rse", ""},
	} {
		if got := offeredName(pair[0], pair[1]); !strings.HasPrefix(got, start) || !legal.MatchString(got) ||
			len(got) != len(start)+12 {
			t.Errorf("%v is %s; want %s…", pair, got, start)
		}
	}
}

// TestNameIsInjective over pairs that are close to each other.
func TestNameIsInjective(t *testing.T) {
	part := rapid.StringMatching(`[a_.é-]{1,4}|[a_-]{28,34}|x-[0-9a-f]{12}`)
	rapid.Check(t, func(t *rapid.T) {
		a := [2]string{part.Draw(t, "server"), part.Draw(t, "tool")}
		b := [2]string{part.Draw(t, "other server"), part.Draw(t, "other tool")}
		if rapid.Bool().Draw(t, "moved") { // the same letters, cut elsewhere
			whole := a[0] + "__" + a[1]
			if i := rapid.IntRange(1, len(whole)).Draw(t, "cut"); strings.HasPrefix(whole[i:], "__") {
				b = [2]string{whole[:i], whole[i+2:]}
			}
		}
		if a != b && offeredName(a[0], a[1]) == offeredName(b[0], b[1]) {
			t.Fatalf("%q and %q are both %s", a, b, offeredName(a[0], a[1]))
		}
	})
}

func FuzzName(f *testing.F) {
	f.Add("fs", "read_file")
	f.Add("", "\x00")
	f.Add("9", "é__")
	f.Fuzz(func(t *testing.T, server, toolName string) {
		name := offeredName(server, toolName)
		if !legal.MatchString(name) {
			t.Errorf("%q and %q become %q", server, toolName, name)
		}
		if again := offeredName(server, toolName); again != name {
			t.Errorf("%q, then %q", name, again)
		}
	})
}

func TestKeepExact(t *testing.T) {
	const schema = `{"type":"object","properties":{"z":{"maximum":9007199254740993},"a":{"const":"<&>"}}}`
	message := `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","_meta":{"own":1},"inputSchema":` + schema +
		`}],"nextCursor":"n"}}`
	var got struct{ Result sdk.ListToolsResult }
	if err := json.Unmarshal(keepExactValues([]byte(message)), &got); err != nil {
		t.Fatal(err)
	}
	tool := got.Result.Tools[0]
	if s := string(exactText(
		tool.Meta, metaSchema, tool.InputSchema,
	)); s != schema || got.Result.NextCursor != "n" || tool.Meta["own"] != 1.0 {
		t.Errorf("%s %+v", s, got.Result)
	}
	if s := string(exactText(nil, metaSchema, map[string]any{"type": "object"})); s != `{"type":"object"}` {
		t.Error("without the text, what the SDK understood:", s)
	}
	for _, odd := range []string{
		`{"method":"x"}`, `{"inputSchema"`, `{"result":{"tools":"inputSchema"}}`, `{"result":null,"inputSchema":1}`,
		`{"result":[],"structuredContent":1}`,
	} {
		if got := string(keepExactValues([]byte(odd))); got != odd && !json.Valid([]byte(got)) {
			t.Errorf("%s became %s", odd, got)
		}
	}
}

// FuzzResult: whatever a server answers is a result with the id of its call, or
// an error of the SDK's reader.
func FuzzResult(f *testing.F) {
	f.Add(`{"content":[{"type":"text","text":"x"}],"structuredContent":{"a":1.0}}`)
	f.Add(`{"content":[{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="},{"type":"resource","resource":{"uri":"x","blob":""}}],"isError":true}`)
	f.Add(`{"content":[{"type":"resource"},{"type":"resource_link"},{"type":"audio"}],"_meta":{"meerkat/structuredContent":7}}`)
	f.Add(`{"structuredContent":null,"_meta":null,"isError":true}`)
	f.Fuzz(func(t *testing.T, body string) {
		message := keepExactValues([]byte(`{"jsonrpc":"2.0","id":1,"result":` + body + `}`))
		var got struct{ Result *sdk.CallToolResult }
		if json.Unmarshal(message, &got) != nil || got.Result == nil {
			return
		}
		out := convertResult(transcript.ToolCall{ID: "id", Name: "t"}, got.Result)
		if out.ToolUseID != "id" || out.IsError && strings.TrimSpace(out.Content) == "" {
			t.Errorf("%+v", out)
		}
		for _, p := range out.Parts {
			if len(p.Data) == 0 || p.MediaType == "" || p.Type != "image" && p.Type != "file" || p.Type == "image" &&
				!imageTypes[p.MediaType] {
				t.Errorf("%+v", p)
			}
		}
	})
}

// FuzzMessages: what comes through is JSON-RPC, line by line, and in bounds.
func FuzzMessages(f *testing.F) {
	f.Add("hello\n{\"jsonrpc\":\"2.0\",\"id\":1}\n\n{}\n")
	f.Add("{\"jsonrpc\":\"2.0\",\"result\":{\"structuredContent\":1}}\r\nx")
	f.Add(strings.Repeat("a", 5000))
	f.Fuzz(func(t *testing.T, stdout string) {
		m := newMessageReader(strings.NewReader(stdout), 1<<10, func(line []byte) {
			if len(line) > maxLogLine {
				t.Error("a log line of", len(line), "bytes")
			}
		})
		var out strings.Builder
		for buf := make([]byte, 7); ; {
			n, err := m.Read(buf)
			out.Write(buf[:n])
			if err != nil {
				break
			}
		}
		for line := range strings.Lines(out.String()) {
			if !isMessage([]byte(line)) || !strings.HasSuffix(line, "\n") {
				t.Errorf("%q came through", line)
			}
		}
	})
}
