package recorder

import (
	"bytes"
	"context"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/schemas"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden holds text against a file of testdata/golden.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("%s is not what is printed; run the test with -update and look at the difference\n%s", path, text)
	}
}

// recorder runs a command in dir and returns what it printed, stdout first.
func (d dir) recorder(args ...string) (exit int, stdout, stderr string) {
	d.t.Chdir(d.path)
	var out, errs bytes.Buffer
	exit = Run(context.Background(), args, strings.NewReader(""), &out, &errs, []string{"HOME=" + d.path})
	d.t.Chdir(d.home)
	return exit, out.String(), errs.String()
}

type dir struct {
	t          *testing.T
	path, home string
}

func newDir(t *testing.T) dir {
	t.Helper()
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir{t, t.TempDir(), home}
}

// write makes a cassette.
func (d dir) write(name string, list ...cassette.Interaction) {
	d.t.Helper()
	w, err := cassette.Create(filepath.Join(d.path, name),
		cassette.Meta{Version: cassette.FormatVersion, Provenance: cassette.ProvenanceSynthetic,
			Tool: "test", Created: "2026-01-02T03:04:05Z", Redaction: []string{"header-allowlist"}},
		cassette.CreateOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, in := range list {
		if err := w.Append(in); err != nil {
			d.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		d.t.Fatal(err)
	}
}

// timed is an event, and when it came.
type timed struct {
	at   time.Duration
	data string
}

const anthropicMessages = "https://api.anthropic.com/v1/messages"

// conversation is a recording in two turns: ids tells it from others, answer is
// what the model says at the end.
func conversation(ids, answer string) []cassette.Interaction {
	const head = `{"model":"claude-x","max_tokens":64,"stream":true,"system":"You are a careful test subject, and this sentence is long.","tools":[{"name":"look","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"Look,\nthen answer."}`
	sec := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	first := interaction(ids, head+"]}", []timed{
		{sec(.001), `{"type":"message_start","message":{"id":"msg_ID","usage":{"input_tokens":9,"output_tokens":1}}}`},
		{sec(.002),
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`},
		{sec(.003), `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"I look"}}`},
		{sec(.004), `{"type":"ping"}`},
		{sec(3.2), `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":" there."}}`},
		{sec(3.21), `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"SIGID"}}`},
		{sec(3.22), `{"type":"content_block_stop","index":0}`},
		{sec(3.23),
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_ID","name":"look","input":{}}}`},
		{sec(3.24),
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"at\":"}}`},
		{sec(3.25), `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"1}"}}`},
		{sec(3.26), `{"type":"content_block_stop","index":1}`},
		{sec(3.27), `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":12}}`},
		{sec(3.28), `{"type":"message_stop"}`},
	})
	second := interaction(ids, head+
		`,{"role":"assistant","content":[{"type":"thinking","thinking":"I look there.","signature":"SIGID"},{"type":"tool_use","id":"toolu_ID","name":"look","input":{"at":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_ID","content":"a heron"}]}]}`, []timed{
		{sec(.001),
			`{"type":"message_start","message":{"id":"msg_bID","usage":{"input_tokens":20,"output_tokens":1}}}`},
		{sec(.002), `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`},
		{sec(.003), `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + answer + `"}}`},
		{sec(.004), `{"type":"content_block_stop","index":0}`},
		{sec(.005), `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`},
		{sec(.006), `{"type":"message_stop"}`},
	})
	return []cassette.Interaction{first, second}
}

func interaction(ids, body string, events []timed) cassette.Interaction {
	in := cassette.Interaction{End: cassette.EndEOF, Duration: events[len(events)-1].at}
	in.Request = cassette.Request{Method: "POST", URL: anthropicMessages, Proto: "HTTP/1.1",
		Body: []byte(strings.ReplaceAll(body, "ID", ids)),
		Header: http.Header{"Content-Type": {"application/json"}, "Anthropic-Version": {"2023-06-01"},
			"X-Api-Key": {"REDACTED" + ids}}}
	in.Response = cassette.Response{Status: 200, Proto: "HTTP/2.0", Header: http.Header{
		"Content-Type": {"text/event-stream"}, "Request-Id": {"req_" + ids}, "Date": {"now " + ids},
		"Anthropic-Ratelimit-Requests-Limit": {"1"}}}
	for _, e := range events {
		chunk := "data: " + strings.ReplaceAll(e.data, "ID", ids) + "\n\n"
		in.Response.Body = append(in.Response.Body, chunk...)
		in.Timeline = append(in.Timeline, cassette.Chunk{At: e.at, Length: len(chunk)})
	}
	return in
}

func TestInspect(t *testing.T) {
	d := newDir(t)
	list := conversation("7", "A heron.")
	list[1].End, list[1].Response.Body = cassette.EndReset, list[1].Response.Body[:len(list[1].Response.Body)-20]
	list[1].Timeline[len(list[1].Timeline)-1].Length -= 20
	d.write("c.yaml", list...)
	for name, args := range map[string][]string{
		"inspect.txt":            {"c.yaml"},
		"inspect-first.txt":      {"c.yaml", "-i", "0"},
		"inspect-unfold.txt":     {"c.yaml#0", "--unfold"},
		"inspect-cut.txt":        {"c.yaml#1"},
		"inspect-first.json.txt": {"c.yaml#0", "--json"},
	} {
		exit, stdout, stderr := d.recorder(append([]string{"inspect"}, args...)...)
		if exit != ExitOK || stdout == "" || stderr != "" {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", args, exit, stdout, stderr)
		}
		golden(t, name, stdout)
	}
	exit, stdout, stderr := d.recorder("inspect", "c.yaml#1", "--body", "response")
	if exit != ExitOK || stdout != string(list[1].Response.Body) || stderr != "" {
		t.Errorf("body: exit %d, %q, %q", exit, stdout, stderr)
	}
}

func TestInspectRefuses(t *testing.T) {
	d := newDir(t)
	d.write("c.yaml", conversation("7", "A heron.")...)
	for _, tt := range []struct{ args, want string }{
		{"c.yaml -i 2", "recorder: c.yaml#2: has 2 interactions, counted from 0\n"},
		{"c.yaml -i -3", "recorder: -i -3: interactions are counted from 0\n"},
		{"c.yaml#x",
			"recorder: c.yaml#x: behind # goes the number of an interaction, as recorder inspect c.yaml lists them\n"},
		{"c.yaml --body request",
			"recorder: inspect: --body and --unfold are about one interaction; name it with -i N\n"},
		{"c.yaml#0 --body both", "recorder: --body both: is request or response\n"},
	} {
		exit, stdout, stderr := d.recorder(append([]string{"inspect"}, strings.Fields(tt.args)...)...)
		if exit != ExitUsage || stdout != "" || stderr != tt.want {
			t.Errorf("%s: exit %d, %q, %q", tt.args, exit, stdout, stderr)
		}
	}
}

func TestTextconv(t *testing.T) {
	d := newDir(t)
	d.write("a.yaml", conversation("7", "A heron.")...)
	exit, stdout, stderr := d.recorder("textconv", "a.yaml")
	if exit != ExitOK || stderr != "" {
		t.Errorf("exit %d, %q", exit, stderr)
	}
	golden(t, "textconv.txt", stdout)
}

// A new recording that differs only in ids, times, signatures, the way texts
// are cut into pieces and the values of headers prints the same.
func TestTextconvShowsRealChangeOnly(t *testing.T) {
	d := newDir(t)
	again := conversation("899", "A heron.")
	for i := range again {
		body := strings.Replace(string(again[i].Response.Body), `"thinking":"I look"`, `"thinking":"I lo"}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"ok"`, 1)
		again[i].Response.Body = []byte(strings.ReplaceAll(body, `{"type":"ping"}`, `{"type":"ping" }`))
		again[i].Timeline, again[i].Duration = nil, 5*time.Second
	}
	d.write("a.yaml", conversation("7", "A heron.")...)
	d.write("b.yaml", again...)
	d.write("c.yaml", conversation("7", "A stork.")...)
	_, a, _ := d.recorder("textconv", "a.yaml")
	_, b, _ := d.recorder("textconv", "b.yaml")
	_, c, _ := d.recorder("textconv", "c.yaml")
	if a != b {
		t.Errorf("a re-record differs:\n%s\n%s", a, b)
	}
	if strings.Replace(a, "A heron.", "A stork.", 1) != c {
		t.Errorf("another answer differs elsewhere:\n%s", c)
	}
}

// git gives a diff up when its textconv fails, so a damaged cassette is shown
// as far as it goes, and what is none as it is.
func TestTextconvOfDamage(t *testing.T) {
	d := newDir(t)
	d.write("a.yaml", conversation("7", "A heron.")...)
	text, err := os.ReadFile(filepath.Join(d.path, "a.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{"damaged.yaml": strings.Replace(string(text), "look", "book", 1),
		"none.yaml": "<<<<<<< HEAD\n"} {
		if err := os.WriteFile(filepath.Join(d.path, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	exit, stdout, _ := d.recorder("textconv", "damaged.yaml")
	if exit != ExitOK || !strings.Contains(stdout, "\n!! 0  the head or interaction 0 is damaged") ||
		!strings.Contains(stdout, "\n-- 1  200  eof\n") || strings.Contains(stdout, "damaged.yaml") {
		t.Errorf("exit %d:\n%s", exit, stdout)
	}
	exit, stdout, _ = d.recorder("textconv", "none.yaml")
	if exit != ExitOK || !strings.HasPrefix(stdout, "!! is not a cassette") ||
		!strings.HasSuffix(stdout, "\n<<<<<<< HEAD\n\n") || strings.Contains(stdout, "none.yaml") {
		t.Errorf("exit %d:\n%s", exit, stdout)
	}
	if exit, stdout, stderr := d.recorder("textconv", "missing.yaml"); exit != ExitUsage || stdout != "" ||
		!strings.Contains(stderr, "missing.yaml: does not exist") {
		t.Errorf("exit %d: %s%s", exit, stdout, stderr)
	}
}

func TestDiff(t *testing.T) {
	d := newDir(t)
	changed := conversation("899", "A very large heron.")
	changed[1].Response.Status = 201
	changed[1].Response.Body = bytes.Replace(changed[1].Response.Body, []byte(`"stop_reason":"end_turn"`),
		[]byte(`"stop_reason":"max_tokens"`), 1)
	changed[1].Response.Body = bytes.Replace(changed[1].Response.Body, []byte(`{"id":`),
		[]byte(`{"mood":"good","id":`), 1)
	changed[1].Timeline = nil
	d.write("a.yaml", conversation("7", "A heron.")...)
	d.write("b.yaml", conversation("899", "A heron.")...)
	d.write("c.yaml", changed...)
	d.write("d.yaml", conversation("7", "A heron.")[1])
	for name, tt := range map[string]struct {
		args []string
		exit int
	}{
		"diff-equal.txt":   {[]string{"a.yaml", "b.yaml"}, ExitOK},
		"diff.txt":         {[]string{"a.yaml", "c.yaml"}, ExitGate},
		"diff-gone.txt":    {[]string{"a.yaml", "d.yaml"}, ExitGate},
		"diff-one.txt":     {[]string{"a.yaml#0", "a.yaml#1"}, ExitGate},
		"diff.json.txt":    {[]string{"a.yaml", "c.yaml", "--json"}, ExitGate},
		"diff-missing.txt": {[]string{"a.yaml", "no.yaml"}, ExitUsage},
		"diff-usage.txt":   {[]string{"a.yaml"}, ExitUsage},
	} {
		exit, stdout, stderr := d.recorder(append([]string{"diff"}, tt.args...)...)
		if exit != tt.exit || (stdout == "") != (tt.exit == ExitUsage) || (stderr == "") != (stdout != "") {
			t.Errorf("%v: exit %d, want %d; stdout %q, stderr %q", tt.args, exit, tt.exit, stdout, stderr)
		}
		golden(t, name, stdout+stderr)
		if strings.Contains(name, "json") {
			if err := schemas.Validate(schemas.RecorderDiff, []byte(stdout)); err != nil {
				t.Error(err)
			}
		}
	}
}

// Names are a provider's words, too: of models and of events.
func TestNamesAreNoControls(t *testing.T) {
	d := newDir(t)
	hostile := conversation("7", "A heron.")[1:]
	hostile[0].Request.Body = bytes.Replace(hostile[0].Request.Body, []byte("claude-x"), []byte(`a\u001b[2J`), 1)
	hostile[0].Response.Body = bytes.Replace(hostile[0].Response.Body, []byte(`"type":"message_delta"`),
		[]byte(`"type":"\u001b[2J"`), 1)
	hostile[0].Timeline = nil
	d.write("a.yaml", hostile...)
	d.write("b.yaml", conversation("7", "A heron.")[1])
	for _, args := range [][]string{{"inspect", "a.yaml"}, {"inspect", "a.yaml#0"}, {"textconv", "a.yaml"},
		{"diff", "a.yaml", "b.yaml"}, {"inspect", "\x1b[2J\n"}} {
		_, stdout, stderr := d.recorder(args...)
		if all := stdout + stderr; strings.Contains(all, "\x1b") ||
			args[0] != "inspect" && !strings.Contains(all, `\x1b`) {
			t.Errorf("%q prints\n%q", args, all)
		}
	}
}
