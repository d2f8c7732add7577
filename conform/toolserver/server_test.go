package toolserver_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"image/png"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/conform/toolserver"
)

// connect returns a client of a server that writes calls to log, over stdio and over
// HTTP.
func connect(t *testing.T, log io.Writer, visit func(*testing.T, *sdk.ClientSession)) {
	t.Helper()
	config := toolserver.Config{Version: "1.2", Log: log}
	client := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil)
	t.Run("stdio", func(t *testing.T) {
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- config.Serve(t.Context(), in, out) }()
		session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
		if err != nil {
			t.Fatal(err)
		}
		visit(t, session)
		_ = session.Close()
		if err := <-ended; err != nil && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("the server ended with %v", err)
		}
	})
	t.Run("http", func(t *testing.T) {
		server := httptest.NewServer(config.Handler())
		t.Cleanup(server.Close)
		session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: server.URL}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = session.Close() }()
		visit(t, session)
	})
}

func call(t *testing.T, s *sdk.ClientSession, name, arguments string) *sdk.CallToolResult {
	t.Helper()
	params := &sdk.CallToolParams{Name: name}
	if arguments != "" {
		params.Arguments = json.RawMessage(arguments)
	}
	result, err := s.CallTool(t.Context(), params)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return result
}

func text(t *testing.T, r *sdk.CallToolResult) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("%d parts of content", len(r.Content))
	}
	content, ok := r.Content[0].(*sdk.TextContent)
	if !ok {
		t.Fatalf("content is %T", r.Content[0])
	}
	return content.Text
}

// TestTools holds what each tool answers, and that bad arguments are the model's to
// mend, not an error of the protocol.
func TestTools(t *testing.T) {
	connect(t, nil, func(t *testing.T, s *sdk.ClientSession) {
		t.Helper()
		const awkward = `{"id":12345678901234567890,"kind":"größer","note":null,"labels":{"größe":"鳥 🦩"},"nested":{"list":[{"value":1.0}]}}`
		for _, c := range []struct{ tool, arguments, want string }{
			{"conform_echo", `{"text":"h\u00e9ron 🦩"}`, "héron 🦩"},
			{"conform_noargs", ``, "ok"},
			{"conform_noargs", `{}`, "ok"},
			{"conform_slow", `{"seconds":1}`, "ok"},
			{"conform_large", `{"bytes":20}`, "line 000001 of a res"},
			{"conform_awkward", awkward, awkward},
		} {
			if r := call(t, s, c.tool, c.arguments); r.IsError || text(t, r) != c.want {
				t.Errorf("%s %s: %q, error %t; want %q", c.tool, c.arguments, text(t, r), r.IsError, c.want)
			}
		}
		for _, c := range []struct{ tool, arguments string }{
			{"conform_fail", ``},
			{"conform_echo", `{}`},
			{"conform_echo", `{"text":7}`},
			{"conform_slow", `{"seconds":61}`},
			{"conform_slow", ``},
			{"conform_large", `{"bytes":1048577}`},
		} {
			if r := call(t, s, c.tool, c.arguments); !r.IsError || !strings.HasPrefix(text(t, r), c.tool+": ") {
				t.Errorf("%s %s: %q is no error of the tool", c.tool, c.arguments, text(t, r))
			}
		}
		if n := len(text(t, call(t, s, "conform_large", ""))); n != 64<<10 {
			t.Errorf("conform_large returns %d bytes", n)
		}
		image, ok := call(t, s, "conform_image", "").Content[0].(*sdk.ImageContent)
		if !ok {
			t.Fatal("conform_image returns no image")
		}
		if _, err := png.Decode(bytes.NewReader(image.Data)); err != nil {
			t.Errorf("conform_image: %v", err)
		}
	})
}

// TestListing holds that all tools say that they change nothing: agents ask for
// approval otherwise.
func TestListing(t *testing.T) {
	connect(t, nil, func(t *testing.T, s *sdk.ClientSession) {
		t.Helper()
		listed, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range listed.Tools {
			names = append(names, strings.TrimPrefix(tool.Name, "conform_"))
			if a := tool.Annotations; !a.ReadOnlyHint || *a.DestructiveHint || *a.OpenWorldHint {
				t.Errorf("%s: %+v", tool.Name, a)
			}
		}
		if want := []string{"awkward", "echo", "fail", "image", "large", "noargs", "slow"}; !slices.Equal(names, want) {
			t.Errorf("tools %v, want %v", names, want)
		}
	})
}

// TestSlowIsCancelled holds that a call that is called off does not go on.
func TestSlowIsCancelled(t *testing.T) {
	in := strings.NewReader(handshake +
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"conform_slow","arguments":{"seconds":60}}}
{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}
`)
	began := time.Now()
	if err := (toolserver.Config{}).Serve(t.Context(), in, io.Discard); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the call went on for %s", took)
	}
}

// TestCallsAreLogged holds that every call is noted with the bytes that arrived, before it
// and with its end after it.
func TestCallsAreLogged(t *testing.T) {
	var log bytes.Buffer
	connect(t, &log, func(t *testing.T, s *sdk.ClientSession) {
		t.Helper()
		log.Reset()
		call(t, s, "conform_echo", `{"text":"heron"}`)
		call(t, s, "conform_fail", "")
		var got []toolserver.Call
		for lines := bufio.NewScanner(&log); lines.Scan(); {
			var c toolserver.Call
			if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
				t.Fatal(err)
			}
			got = append(got, c)
		}
		var ends []string
		for _, c := range got {
			ends = append(ends, c.Tool+" "+c.End)
		}
		if strings.Join(ends, ", ") != "conform_echo , conform_echo ok, conform_fail , conform_fail error" ||
			string(got[0].Arguments) != `{"text":"heron"}` || got[0].Time.IsZero() {
			t.Errorf("logged %+v", got)
		}
	})
}

const handshake = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// TestRequestsInAPipe holds that requests are answered although the client closes its
// end at once.
func TestRequestsInAPipe(t *testing.T) {
	in := strings.NewReader(handshake + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"conform_echo","arguments":{"text":"heron"}}}
`)
	var out bytes.Buffer
	if err := (toolserver.Config{}).Serve(t.Context(), in, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"id":1`, `"name":"conform_awkward"`, `"id":"x"`, `"text":"heron"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, out.String())
		}
	}
}
