package rule_test

import (
	"bytes"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/meerkat-go/conformance/internal/datafile"
	"github.com/meerkat-go/conformance/specs"
	_ "github.com/meerkat-go/conformance/wires/all"
	"github.com/meerkat-go/conformance/wires/rule"
)

// thread is one row of testdata/threads.yaml.
type thread struct {
	Thread string            `yaml:"thread" data:"required"`
	Reply  string            `yaml:"reply" data:"required"`
	Edits  [][]string        `yaml:"edits"`
	Drop   []string          `yaml:"drop"`
	Twice  []string          `yaml:"twice"`
	Move   []string          `yaml:"move"` // an event, and the one behind which it is put
	Body   *string           `yaml:"body"`
	End    string            `yaml:"end"`
	Trim   int               `yaml:"trim"` // bytes that the end of the body loses
	Status int               `yaml:"status"`
	Type   string            `yaml:"type"`
	Header map[string]string `yaml:"header"`
	Sent   string            `yaml:"sent" data:"one=plain packed"`
	SawAll bool              `yaml:"saw_all"`
	Want   []string          `yaml:"want"`
	// Silence is how many seconds the stream pauses, EmptyOutput empties the output of the completed
	// response.
	Silence     int  `yaml:"silence"`
	EmptyOutput bool `yaml:"empty_output"`
}

// readReplies reads testdata/replies.txtar: three lines say what was asked and how it was answered,
// then the body follows.
func readReplies(t *testing.T) map[string]rule.Exchange {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/replies.txtar")
	if err != nil {
		t.Fatal(err)
	}
	replies := map[string]rule.Exchange{}
	for _, f := range archive.Files {
		lines := strings.SplitN(string(f.Data), "\n", 4)
		asked, said := strings.Fields(lines[0]), strings.SplitN(lines[2], " ", 2)
		status, _ := strconv.Atoi(said[0])
		replies[f.Name] = rule.Exchange{Wire: asked[1], Method: asked[0], URL: asked[2], Request: []byte(lines[1]),
			Status: status, Header: http.Header{"Content-Type": {said[1]}}, Body: []byte(lines[3])}
	}
	return replies
}

var sequence = regexp.MustCompile(`"sequence_number":\d+`)

// change makes the reply of a thread.
func (h *thread) change(t *testing.T, x rule.Exchange) *rule.Exchange {
	body := string(x.Body)
	if h.EmptyOutput {
		at := strings.LastIndex(body, `"output":[`)
		body = body[:at] + `"output":[]` + body[strings.LastIndex(body, `,"usage"`):]
	}
	events := strings.SplitAfter(body, "\n\n")
	holds := func(texts []string) func(string) bool {
		return func(e string) bool {
			return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(e, text) })
		}
	}
	for _, text := range slices.Concat(h.Drop, h.Twice, h.Move) {
		if !slices.ContainsFunc(events, holds([]string{text})) {
			t.Errorf("%s: no event holds %q", h.Thread, text)
		}
	}
	events = slices.DeleteFunc(events, holds(h.Drop))
	if len(h.Move) == 2 {
		from := slices.IndexFunc(events, holds(h.Move[:1]))
		moved := events[from]
		events = slices.Delete(events, from, from+1)
		events = slices.Insert(events, slices.IndexFunc(events, holds(h.Move[1:]))+1, moved)
	}
	body = ""
	for _, e := range events {
		body += e
		if holds(h.Twice)(e) {
			body += e
		}
	}
	if len(h.Drop)+len(h.Twice) > 0 { // the fault is another one than the numbers
		n := -1
		body = sequence.ReplaceAllStringFunc(body,
			func(string) string { n++; return `"sequence_number":` + strconv.Itoa(n) })
	}
	for _, edit := range h.Edits {
		if len(edit) != 2 || !strings.Contains(body, edit[0]) {
			t.Errorf("%s: the reply does not hold %q", h.Thread, edit)
			continue
		}
		body = strings.Replace(body, edit[0], edit[1], 1)
	}
	if h.Body != nil {
		body = *h.Body
	}
	body += h.End
	x.Body = []byte(body[:len(body)-h.Trim])
	x.Header = x.Header.Clone()
	if h.Type != "" {
		x.Header.Set("Content-Type", h.Type)
	}
	for name, value := range h.Header {
		x.Header.Set(name, value)
	}
	if h.Status != 0 {
		x.Status = h.Status
	}
	switch h.Sent {
	case "plain":
		x.Sent = x.Body
	case "packed":
		x.Sent = []byte("\x1f\x8b\x08 and so on")
	}
	if x.SawAll = h.SawAll || slices.Contains(h.Want, "SV-H14"); h.Silence > 0 {
		x.Chunks = []rule.Chunk{{At: time.Second, Length: 1},
			{At: time.Duration(1+h.Silence) * time.Second, Length: len(x.Body) - 1}}
	}
	return &x
}

// neglected lists the duties that a reply neglects, with what is said of them.
func neglected(x *rule.Exchange) (ids []string, said string) {
	for _, p := range rule.JudgeReply(x) {
		for _, b := range p.Breaches {
			said += "\n\t" + p.ID + ": " + b.Message()
			if !slices.Contains(ids, p.ID) {
				ids = append(ids, p.ID)
			}
		}
	}
	return ids, said
}

// TestThreads holds that the faults of servers which people reported are seen, each under its duty,
// and that the replies which these servers should have sent neglect nothing.
func TestThreads(t *testing.T) {
	data, err := os.ReadFile("testdata/threads.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var threads []thread
	if err := datafile.Read("threads.yaml", data, &threads, datafile.Options{}).Err(); err != nil {
		t.Fatal(err)
	}
	replies := readReplies(t)
	for name, x := range replies {
		if _, said := neglected(&x); said != "" {
			t.Errorf("%s: a whole reply neglects%s", name, said)
		}
	}
	for i := range threads {
		h := &threads[i]
		x, ok := replies[h.Reply]
		if !ok {
			t.Fatalf("%s: no reply %s", h.Thread, h.Reply)
		}
		changed := h.change(t, x)
		got, said := neglected(changed)
		for _, id := range h.Want {
			if specs.FindDuty(id) == nil || !slices.Contains(got, id) {
				t.Errorf("%s: %s is not seen, but%s\n%s", h.Thread, id, said,
					bytes.TrimSpace(changed.Body[:min(300, len(changed.Body))]))
			}
		}
		if more := slices.DeleteFunc(got, func(id string) bool { return slices.Contains(h.Want, id) }); len(more) > 0 {
			t.Errorf("%s: also neglects%s", h.Thread, said)
		}
	}
	t.Logf("%d threads", len(threads))
	if len(threads) < 60 {
		t.Errorf("only %d threads", len(threads))
	}
}

// TestRulesHaveDuties holds that each rule of replies judges a duty that specs knows.
func TestRulesHaveDuties(t *testing.T) {
	for _, r := range rule.ReplyRules() {
		if specs.FindDuty(r.Duty) == nil {
			t.Errorf("no duty %s", r.Duty)
		}
	}
}

// TestNamelessEvents: Anthropic's SDK drops events without a name, those of OpenAI read the type in the data.
func TestNamelessEvents(t *testing.T) {
	replies := readReplies(t)
	for name, want := range map[string]string{"messages": "crash", "responses": "degraded"} {
		h := thread{Edits: [][]string{{"event: ", ": "}}}
		x, found := replies[name], false
		for _, p := range rule.JudgeReply(h.change(t, x)) {
			for _, b := range p.Breaches {
				if found = true; p.ID != "SV-H2" || b.Consequence != want {
					t.Errorf("%s: %s %q: %s", name, p.ID, b.Consequence, b.Message())
				}
			}
		}
		if !found {
			t.Errorf("%s: no breach", name)
		}
	}
}
