package rest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/server/rest"
)

// TestSteer holds that the model gets a directive in its next request, and that the
// client learns so.
func TestSteer(t *testing.T) {
	f := newFixture(t, server.BackendLimits{Steering: 2}, rest.Options{})
	begun := f.ask(t, "POST", "/sessions", `{"prompt":"hold"}`)
	path := "/sessions/" + begun.SessionID
	<-f.holding
	steered := f.ask(t, "POST", path+"/steer", `{"message":"look <left>"}`)
	if steered.status != 202 || steered.Status != "queued" || steered.SessionID != begun.SessionID ||
		!strings.Contains(steered.text, `"run_id":"`+begun.ID) {
		t.Fatalf("POST steer: %d %s", steered.status, steered.text)
	}
	f.ask(t, "POST", path+"/steer", `{"message":"and right"}`)
	full := f.ask(t, "POST", path+"/steer", `{"message":"too many"}`)
	if full.status != 429 || full.header.Get("Retry-After") == "" {
		t.Errorf("a third message where two may wait: %d %v %s", full.status, full.header, full.text)
	}
	f.released <- struct{}{}
	if done := f.ask(
		t, "GET", begun.header.Get("Location"), "", "Prefer: wait=170",
	); !strings.Contains(done.text, "echo: [STEERING] and right") {
		t.Errorf("the run: %s", done.text)
	}
	var said []string
	for _, item := range f.ask(t, "GET", path+"/history", "").Items {
		if strings.HasPrefix(item.Text, ops.SteeringPrefix) {
			said = append(said, item.Type+" "+item.Text)
		}
	}
	if len(said) != 2 || said[0] != "steering [STEERING] look <left>" {
		t.Errorf("the history has %q", said)
	}
	var applied bool
	for _, e := range f.readEvents(t, begun.SessionID, "", 14) {
		applied = applied || strings.Contains(e.data, `"type":"steering_applied"`) &&
			strings.Contains(e.data, steered.ID)
	}
	if !applied {
		t.Error("no event steering_applied has the id of the directive")
	}
}

// TestSteerRefuses goes through what is not a directive.
func TestSteerRefuses(t *testing.T) {
	f := newFixture(t, server.BackendLimits{}, rest.Options{})
	idle, _ := f.start(t, "hi")
	busy, _ := f.start(t, "wait")
	for _, c := range []struct {
		path, body string
		status     int
		detail     string
	}{
		{idle, `{"message":"hi"}`, 409, "session " + idle},
		{"0199a2b4-0000-7000-8000-000000000002", `{"message":"hi"}`, 404, "session 0199a2b4"},
		{busy, `{"message":" "}`, 422, "body.message: "},
		{busy, `{"message":""}`, 422, "body.message: "},
		{busy, `{"message":"` + strings.Repeat("é", ops.MaxDirective/2+1) + `"}`, 422, "body.message: "},
		{busy, `{"message":"hi","to":"all"}`, 422, "body.to: "},
		{busy, `{}`, 422, "body: "},
	} {
		if a := f.ask(
			t, "POST", "/sessions/"+c.path+"/steer", c.body,
		); a.status != c.status || !strings.HasPrefix(a.Detail, c.detail) {
			t.Errorf("%.60s: %d %.200s; want %d and %q", c.body, a.status, a.text, c.status, c.detail)
		}
	}
	if a := f.ask(
		t, "POST", "/sessions/"+busy+"/steer", `{"message":"`+strings.Repeat("x", ops.MaxDirective)+`"}`,
	); a.status != 202 {
		t.Errorf("a message of %d bytes: %d %.200s", ops.MaxDirective, a.status, a.text)
	}
}

// TestOperations lists a tree of sub-agents that have ended, page by page, and one that
// runs.
func TestOperations(t *testing.T) {
	f := newFixture(t, server.BackendLimits{}, rest.Options{})
	id, _ := f.start(t, "spawn spawn hi")
	all := f.ask(t, "GET", "/sessions/"+id+"/operations", "").Operations
	if len(all) != 2 {
		t.Fatalf("operations: %+v", all)
	}
	for i, parent := range []string{id, all[0].ID} {
		o := all[i]
		if o.Parent != parent || o.Depth != i+1 || o.Label != "one" || o.Status != "completed" || !o.Delivered ||
			o.Model == "" || o.Usage == nil || o.Usage.InputTokens < 10 || o.Started == "" || o.Ended == "" {
			t.Errorf("operation %d: %+v", i, o)
		}
	}
	first := f.ask(t, "GET", "/sessions/"+id+"/operations?limit=1", "")
	second := f.ask(t, "GET", "/sessions/"+id+"/operations?limit=1&offset=1", "")
	if len(first.Operations) != 1 || first.NextOffset == nil || *first.NextOffset != 1 ||
		len(second.Operations) != 1 || second.Operations[0].ID != all[1].ID || second.NextOffset != nil {
		t.Errorf("page by page: %s, then %s", first.text, second.text)
	}
	if below := f.ask(
		t, "GET", "/sessions/"+all[0].ID+"/operations", "",
	).Operations; len(below) != 1 || below[0].ID != all[1].ID || below[0].Depth != 1 {
		t.Errorf("below the first: %+v", below)
	}
	idle, _ := f.start(t, "hi")
	if none := f.ask(
		t, "GET", "/sessions/"+idle+"/operations", "",
	); none.status != 200 || !strings.Contains(none.text, `"operations":[]`) {
		t.Errorf("without any: %d %s", none.status, none.text)
	}
}

// TestOperationsUnderWay follows a sub-agent from its start to an interrupt.
func TestOperationsUnderWay(t *testing.T) {
	f := newFixture(t, server.BackendLimits{}, rest.Options{})
	a := f.ask(t, "POST", "/sessions", `{"prompt":"spawn wait"}`)
	path := "/sessions/" + a.SessionID
	running := f.awaitOperation(t, path, "running")
	if running.Delivered || running.Ended != "" {
		t.Errorf("while it runs: %+v", running)
	}
	if ended := f.ask(t, "POST", path+"/interrupt", "", "Prefer: wait=170"); ended.Status != "interrupted" {
		t.Fatalf("interrupt: %s", ended.text)
	}
	if o := f.awaitOperation(t, path, "interrupted"); o.ID != running.ID {
		t.Errorf("after the interrupt: %+v", o)
	}
}

// TestCancelOperation cancels a sub-agent: the run goes on without it.
func TestCancelOperation(t *testing.T) {
	f := newFixture(t, server.BackendLimits{}, rest.Options{})
	a := f.ask(t, "POST", "/sessions", `{"prompt":"spawn wait"}`)
	path := "/sessions/" + a.SessionID
	running := f.awaitOperation(t, path, "running")
	if got := f.ask(
		t, "POST", path+"/operations/0199a2b4-0000-7000-8000-000000000009/cancel", "",
	); got.status != http.StatusNotFound || !strings.HasPrefix(got.Detail, "operation 0199a2b4") {
		t.Errorf("an unknown operation: %d %s", got.status, got.text)
	}
	cancel := path + "/operations/" + running.ID + "/cancel"
	if got := f.ask(t, "POST", cancel, ""); got.status != http.StatusAccepted ||
		!strings.Contains(got.text, `"status":"running"`) {
		t.Fatalf("cancel: %d %s", got.status, got.text)
	}
	if ended := f.ask(t, "GET", path+"/runs/"+a.ID, "", "Prefer: wait=170"); ended.Status != "completed" {
		t.Errorf("the run: %s", ended.text)
	}
	f.awaitOperation(t, path, "cancelled")
	if got := f.ask(t, "POST", cancel, ""); got.status != http.StatusConflict {
		t.Errorf("after the run: %d %s", got.status, got.text)
	}
}

// awaitOperation returns the only operation of a session when it has a status.
func (f *fixture) awaitOperation(t *testing.T, path, status string) shownOperation {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		a := f.ask(t, "GET", path+"/operations", "")
		if len(a.Operations) == 1 && a.Operations[0].Status == status {
			return a.Operations[0]
		}
	}
	t.Fatalf("no operation of %s is %s", path, status)
	return shownOperation{}
}

// TestArtifacts reads a large result, as those may who the store allows, until its time
// is up.
func TestArtifacts(t *testing.T) {
	f := newFixture(t, server.BackendLimits{}, rest.Options{})
	id, _ := f.start(t, "spawn "+strings.Repeat("é", largeResult))
	path := "/sessions/" + id + "/artifacts"
	list := f.ask(t, "GET", path, "")
	if len(list.Artifacts) != 1 || !strings.Contains(list.text, `"bytes":1006`) ||
		!strings.Contains(list.text, `"expires_at"`) {
		t.Fatalf("the artifacts: %s", list.text)
	}
	name := list.Artifacts[0].ID
	if o := f.ask(t, "GET", "/sessions/"+id+"/operations", "").Operations; len(o) != 1 || o[0].ArtifactID != name {
		t.Errorf("the operation: %+v", o)
	}
	fork := f.ask(t, "POST", "/sessions/"+id+"/fork", `{}`).ID
	stranger, _ := f.start(t, "hi")
	for reader, want := range map[string]int{
		id: 200, fork: 200, stranger: 404, "0199a2b4-0000-7000-8000-000000000002": 404,
	} {
		a := f.ask(t, "GET", "/sessions/"+reader+"/artifacts/"+name, "")
		if a.status != want || want == 200 && (a.text != "echo: "+strings.Repeat("é", largeResult) ||
			a.header.Get("Content-Type") != "text/plain; charset=utf-8" ||
			a.header.Get("X-Content-Type-Options") != "nosniff") {
			t.Errorf("read by %s: %d %v %.100s, want %d", reader, a.status, a.header, a.text, want)
		}
	}
	for _, other := range []string{
		"x", "..%2f..%2fetc%2fpasswd", id + ".0123456789abcdef", strings.ToUpper(name), id + ".%00",
	} {
		if a := f.ask(t, "GET", path+"/"+other, ""); a.status != http.StatusNotFound ||
			a.header.Get("Content-Type") != "application/problem+json" || !strings.HasPrefix(a.Detail, "artifact ") {
			t.Errorf("artifact %s: %d %s", other, a.status, a.text)
		}
	}
	if a := f.ask(t, "GET", path+"/"+name, "", "Accept: text/html"); a.status != http.StatusNotAcceptable {
		t.Errorf("as a page: %d %s", a.status, a.text)
	}
	f.late.Store(true)
	if a := f.ask(t, "GET", path+"/"+name, ""); a.status != 404 {
		t.Errorf("a day later: %d %s", a.status, a.text)
	}
	if a := f.ask(t, "GET", path, ""); !strings.Contains(a.text, `"artifacts":[]`) {
		t.Errorf("the artifacts a day later: %s", a.text)
	}
}
