package cassette

import (
	"net/http"
	"os"
	"strings"
	"testing"
)

const (
	stop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	sse  = "text/event-stream"
)

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		kind   string
		body   string
		end    End
		want   string
	}{
		{"a stream to its terminal event", 200, sse, stop, EndEOF, ""},
		{"a stream without it", 200, sse, "data: {}\n\n", EndEOF, IncompleteOpen},
		{"a stream of another tool's cassette", 200, sse, "data: {}\n\n", "", IncompleteOpen},
		{"an error in the place of a stream", 529, sse, "", EndEOF, ""},
		{"half a document", 200, "application/json", `{"a":`, EndEOF, IncompleteOpen},
		{"a reset", 200, sse, stop, EndReset, IncompleteCut},
		{"a stream error", 200, sse, stop, "h2:CANCEL", IncompleteCut},
		{"nothing", 0, "", "", EndReset, IncompleteNoReply},
		{"nothing, and the client left", 0, "", "", EndClientAbort, IncompleteNoReply},
		{"the client left too early", 200, sse, "data: {}\n\n", EndClientAbort, IncompleteCut},
		{"the client left when it had all", 200, sse, stop, EndClientAbort, ""},
		{"the client left with a whole document", 200, "application/json", `{"a":1}`, EndClientAbort, ""},
		{"the client left a page, which may be whole", 200, "text/html", "<p>", EndClientAbort, IncompleteCut},
	} {
		in := samples()[0]
		in.Response = Response{Status: tt.status, Header: http.Header{"Content-Type": {tt.kind}}, Body: []byte(tt.body)}
		in.End, in.Timeline, in.Incomplete = tt.end, nil, "not looked at"
		if got := Judge(in); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// What has no body by its nature lacks no terminal event.
func TestJudgeNoBody(t *testing.T) {
	for name, tt := range map[string]struct {
		method string
		status int
		want   string
	}{
		"HEAD": {"HEAD", 200, ""}, "no content": {"DELETE", 204, ""}, "GET": {"GET", 200, IncompleteOpen},
	} {
		in := samples()[0]
		in.Request.Method, in.End, in.Timeline = tt.method, EndEOF, nil
		in.Response = Response{Status: tt.status, Header: http.Header{"Content-Type": {"application/json"}}}
		if got := Judge(in); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// What a cassette declares stands in its head.
func TestDeclared(t *testing.T) {
	for _, declared := range []bool{false, true} {
		meta := testMeta
		if declared {
			meta.Declared = []string{DeclaredIncomplete}
		}
		path := t.TempDir() + "/x.yaml"
		w, err := Create(path, meta, CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{w.Append(samples()[0]), w.Close()} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if data, _ := os.ReadFile(path); strings.Contains(string(data), "declared:") != declared {
			t.Errorf("declared %t:\n%s", declared, data[:400])
		}
		c, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(c.Meta().Declared); (got == 1) != declared {
			t.Errorf("%d declarations are read back", got)
		}
	}
}

// A count of late bytes that cannot be is not believed.
func TestDrainedIsChecked(t *testing.T) {
	for _, value := range []string{"-1", "x", "99999"} {
		text := strings.Replace(stockFile, "      Content-Type:\n      - application/json",
			"      X-Cassette-Drained:\n      - \""+value+"\"", 1)
		if _, err := Parse("x.yaml", []byte(text)); err == nil ||
			!strings.Contains(err.Error(), "X-Cassette-Drained is unreadable") {
			t.Errorf("%s: %v", value, err)
		}
	}
}
