package vcr

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	vcrcassette "github.com/dnaeon/go-vcr/v2/cassette"

	"github.com/meerkat-go/conformance/simulator"
)

// askTwice is an agent under test: it asks, and goes on with the conversation.
// changed, if not nil, changes what it sends back.
func askTwice(t testing.TB, client *http.Client, prompt string, changed func([]byte) []byte) {
	t.Helper()
	said := messages(t, client, `{"role":"user","content":`+quoted(prompt)+`}`)
	if changed != nil {
		said = changed(said)
	}
	messages(t, client, `{"role":"user","content":`+quoted(prompt)+`},{"role":"assistant","content":`+string(said)+
		`},{"role":"user","content":"Go on."}`)
}

func quoted(text string) string {
	out, _ := json.Marshal(text) // a string always has JSON
	return string(out)
}

// messages sends a conversation to Anthropic and returns the content of the reply.
func messages(t testing.TB, client *http.Client, conversation string) []byte {
	t.Helper()
	body := `{"model":"claude-opus-4-5","max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":2048},"messages":[` + conversation + `]}`
	req, err := http.NewRequest(http.MethodPost, "https://api.anthropic.com/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"made-up"},
		"Anthropic-Version": {"2023-06-01"}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var reply struct{ Content json.RawMessage }
	if err := json.Unmarshal(text, &reply); err != nil || resp.StatusCode != http.StatusOK {
		t.Logf("%d %s", resp.StatusCode, text)
		return []byte(`[{"type":"text","text":"nothing"}]`)
	}
	return reply.Content
}

// simulated answers as Anthropic does.
func simulated() http.RoundTripper { return simulator.Transport(simulator.New(simulator.Config{})) }

// TestFiveLines holds that a test of five lines records, replays and is judged.
func TestFiveLines(t *testing.T) {
	name := tempName(t)
	fiveLines := func(t testing.TB) {
		t.Helper()
		rec := ForTest(t, name)
		rec.SetTransport(simulated())
		askTwice(t, &http.Client{Transport: rec}, "How long is a heron?", nil)
		Judge(t, rec)
	}
	for _, c := range []struct{ mode, said string }{{modeRecord, "2 interactions recorded"},
		{modeReplay, "requirements seen"}, {modeRecordMissing, "requirements seen"}} {
		inMode(t, c.mode)
		own := newOwnTest(t)
		fiveLines(own)
		if why := own.end(); why != "" || !strings.Contains(strings.Join(own.logs, "\n"), c.said) {
			t.Errorf("%s: failed with %q, said %q", c.mode, why, own.logs)
		}
	}
	if text := readAll(t, name); !strings.Contains(text, "provenance: synthetic") &&
		!strings.Contains(text, `provenance: "synthetic"`) {
		t.Errorf("the cassette claims %.200s", text)
	}
}

// TestJudgeFinds holds that Judge fails a test whose agent changes a signature, while
// the cassette replays all the same, and a test that asked for nothing.
func TestJudgeFinds(t *testing.T) {
	inMode(t, modeRecord)
	own := newOwnTest(t)
	rec := ForTest(own, tempName(t))
	rec.SetTransport(simulated())
	askTwice(own, &http.Client{Transport: rec}, "How long is a heron?", func(content []byte) []byte {
		at := bytes.Index(content, []byte(`"signature":"`)) + len(`"signature":"`) + 20
		content[at] ^= 1
		return content
	})
	Judge(own, rec)
	if why := own.end(); !strings.Contains(why, "SIG-001/signature-bytes") ||
		!strings.Contains(why, "messages[1].content[0].signature") {
		t.Errorf("failed with %q", why)
	}
	idle := newOwnTest(t)
	Judge(idle, ForTest(idle, tempName(t)))
	if why := idle.end(); !strings.Contains(why, "no call") {
		t.Errorf("a test without requests failed with %q", why)
	}
}

// TestMissIsNamed holds that a replay without an answer fails the test, says what
// differs and how to record it but no key, and does not let a client try again.
func TestMissIsNamed(t *testing.T) {
	url, transport := newService(t, echo)
	name := tempName(t)
	record := newRecorder(t, name, ModeRecording, transport)
	post(t, record, url+"/v1", `{"question":"a"}`)
	post(t, record, url+"/v1", `{"question":"b"}`)
	mustStop(t, record)
	inMode(t, modeReplay)
	own := newOwnTest(t)
	rec := ForTest(own, name)
	post(t, rec, url+"/v1", `{ "question": "a" }`)
	resp, err := (&http.Client{Transport: rec}).Post(url+"/v1", "application/json",
		strings.NewReader(`{"question":"c sk-ant-api03-plainly0plainly0plainly0"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest || resp.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("a miss is %d %v", resp.StatusCode, resp.Header)
	}
	why := own.end()
	for _, want := range []string{"no answer to POST " + url + "/v1", `question: recorded "b", now "c REDACTED"`,
		"VCR_MODE=record-missing go test -run '^TestLoop$/^in parts$'"} {
		if !strings.Contains(why, want) {
			t.Errorf("failed without %q: %s", want, why)
		}
	}
	if logs := strings.Join(own.logs, "\n"); !strings.Contains(logs, "interaction 1 was not asked for") {
		t.Errorf("said %q", logs)
	}
}

// TestMissWithMatcher is TestMissIsNamed for a matcher.
func TestMissWithMatcher(t *testing.T) {
	url, transport := newService(t, echo)
	name := tempName(t)
	record := newRecorder(t, name, ModeRecording, transport)
	post(t, record, url, "a")
	mustStop(t, record)
	inMode(t, modeReplay)
	own := newOwnTest(t)
	rec := ForTest(own, name)
	rec.SetMatcher(vcrcassette.DefaultMatcher)
	if _, err := (&http.Client{Transport: rec}).Get(url + "/other"); err == nil {
		t.Error("answered")
	}
	if why := own.end(); !strings.Contains(why, "no interaction matches GET "+url+"/other") {
		t.Errorf("failed with %q", why)
	}
}

// TestFailedTestKeepsTheCassette holds that a test that fails, also by its judgement,
// does not replace a cassette, and that one that passes does.
func TestFailedTestKeepsTheCassette(t *testing.T) {
	url, transport := newService(t, echo)
	name := tempName(t)
	inMode(t, modeRecord)
	record := func(body string, fail bool) string {
		own := newOwnTest(t)
		rec := ForTest(own, name)
		rec.SetTransport(transport)
		post(t, rec, url, body)
		if fail {
			own.Error("failed")
		}
		own.end()
		return strings.Join(own.logs, "\n")
	}
	if said := record("first", true); !strings.Contains(said, "1 interaction recorded") {
		t.Errorf("of a first recording it said %q", said)
	}
	if said := record("second", true); !strings.Contains(said, "stays as it was") ||
		!strings.Contains(readAll(t, name), "first") {
		t.Errorf("said %q; the file is %s", said, readAll(t, name))
	}
	record("third", false)
	if text := readAll(t, name); strings.Contains(text, "first") || !strings.Contains(text, "third") {
		t.Errorf("the file is %s", text)
	}
}

// TestCutReplyIsNotKept holds that a reply that broke off fails a recording test.
func TestCutReplyIsNotKept(t *testing.T) {
	url, transport := newService(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "short")
	})
	inMode(t, modeRecord)
	own := newOwnTest(t)
	name := tempName(t)
	rec := ForTest(own, name)
	rec.SetTransport(transport)
	resp, err := (&http.Client{Transport: rec}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the client saw a whole reply")
	}
	_ = resp.Body.Close()
	if why := own.end(); !strings.Contains(why, "not kept, because the reply is incomplete") {
		t.Errorf("failed with %q", why)
	}
	if _, err := os.Stat(name + ".yaml"); !os.IsNotExist(err) {
		t.Error("it was kept")
	}
}

// TestFailureThatWasHandled holds that a request without any reply, which the caller
// sent again, does not fail a recording test.
func TestFailureThatWasHandled(t *testing.T) {
	url, transport := newService(t, echo)
	inMode(t, modeRecord)
	own := newOwnTest(t)
	rec := ForTest(own, tempName(t))
	rec.SetTransport(roundTripper(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }))
	if _, err := rec.RoundTrip(mustRequest(t, url)); err == nil {
		t.Error("no failure")
	}
	rec.SetTransport(transport)
	post(t, rec, url, "again")
	if why := own.end(); why != "" {
		t.Errorf("failed with %q", why)
	}
}

func TestMode(t *testing.T) {
	const key = "OPENAI_API_KEY"
	for _, c := range []struct {
		environment map[string]string
		want        string
	}{
		{nil, modeReplay},
		{map[string]string{key: "k"}, modeRecordMissing},
		{map[string]string{"GEMINI_API_KEY": "k", "CI": "false"}, modeRecordMissing},
		{map[string]string{key: "k", "CI": "true"}, modeReplay},
		{map[string]string{"CI": "1"}, modeReplay},
		{map[string]string{"CI": "1", modeVariable: modeRecord}, modeRecord},
		{map[string]string{modeVariable: modePass}, modePass},
		{map[string]string{modeVariable: "rec"}, ""},
	} {
		got, why, err := testMode(func(name string) string { return c.environment[name] })
		if got != c.want || (err == nil) != (c.want != "") || (why == "") != (c.want == "") {
			t.Errorf("%v: %q because %q, %v", c.environment, got, why, err)
		}
	}
}

// TestNothingToReplay holds that a test without a cassette says what to do.
func TestNothingToReplay(t *testing.T) {
	own := newOwnTest(t)
	for _, c := range []struct{ ci, want string }{
		{"true",
			"none.yaml: does not exist, and CI does not record; record it with: VCR_MODE=record go test -run '^TestLoop$/^in parts$'"},
		{"", "none of ANTHROPIC_API_KEY, "},
	} {
		_, err := newForTest(own, "none", func(name string) string { return map[string]string{"CI": c.ci}[name] })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("CI=%s: %v", c.ci, err)
		}
	}
	if _, err := newForTest(own, "none", func(string) string { return "no" }); err == nil ||
		!strings.Contains(err.Error(), "VCR_MODE=no: unknown; use record") {
		t.Error(err)
	}
}

// TestDamagedCassette holds that a cassette of which a byte changed is named as such.
func TestDamagedCassette(t *testing.T) {
	url, transport := newService(t, echo)
	name := tempName(t)
	record := newRecorder(t, name, ModeRecording, transport)
	post(t, record, url, "question")
	mustStop(t, record)
	if err := os.WriteFile(name+".yaml", []byte(strings.Replace(readAll(t, name), "POST question", "POST Question", 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	again := newRecorder(t, name, ModeReplaying, nil)
	if _, err := again.RoundTrip(mustRequest(t, url)); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged reply: %v", err)
	}
	inMode(t, modeReplay)
	own := newOwnTest(t)
	post(t, ForTest(own, name), url, "question")
	if why := own.end(); !strings.Contains(why, "damaged") {
		t.Errorf("failed with %q", why)
	}
}
