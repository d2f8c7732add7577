package rest_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/server/rest"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// TestSessions goes through the life of a session.
func TestSessions(t *testing.T) {
	f := newFixture(t, server.BackendLimits{}, rest.Options{})
	first := f.ask(
		t, "POST", "/sessions", `{"prompt":"hi","metadata":{"ticket":"7"},"budget":{"max_turns":9}}`,
		"Prefer: wait=170",
	)
	path := "/sessions/" + first.SessionID
	if first.status != 200 || first.Status != "completed" || first.header.Get("Location") != path+"/runs/"+first.ID ||
		first.header.Get("Preference-Applied") != "wait=170" {
		t.Fatalf("the first run: %d %v %s", first.status, first.header, first.text)
	}
	second := f.ask(t, "POST", path+"/runs", `{"prompt":"and now"}`)
	if second.status != 202 || second.SessionID != first.SessionID || second.ID == first.ID {
		t.Fatalf("the second run: %d %s", second.status, second.text)
	}
	if done := f.ask(
		t, "GET", second.header.Get("Location"), "", "Prefer: wait=170",
	); done.Status != "completed" || !strings.Contains(done.text, "echo: and now") {
		t.Errorf("the second run later: %s", done.text)
	}
	if got := f.ask(t, "GET", path, ""); got.Status != "idle" || got.Messages != 4 || got.Result != "echo: and now" ||
		!strings.Contains(got.text, `"max_turns":9`) {
		t.Errorf("the session: %s", got.text)
	}
	history := f.ask(t, "GET", path+"/history?offset=1&limit=1", "")
	if len(history.Items) != 1 || history.Items[0].Text != "hi" || history.Total < 8 {
		t.Errorf("its history: %s", history.text)
	}
	page := f.ask(t, "GET", path+"/runs?limit=1", "")
	rest := f.ask(t, "GET", path+"/runs?limit=1&before="+page.NextBefore, "")
	if len(page.Runs) != 1 || page.Runs[0].ID != second.ID || len(rest.Runs) != 1 || rest.Runs[0].ID != first.ID ||
		rest.NextBefore != "" {
		t.Errorf("its runs: %s, then %s", page.text, rest.text)
	}
	fork := f.ask(t, "POST", path+"/fork", `{"messages":2}`)
	if fork.status != 201 || fork.Messages != 2 || fork.ForkedFrom != first.SessionID ||
		fork.header.Get("Location") != "/sessions/"+fork.ID {
		t.Errorf("its fork: %d %s", fork.status, fork.text)
	}
	list := f.ask(t, "GET", "/sessions?limit=1", "")
	if len(list.Sessions) != 1 || list.Sessions[0].ID != fork.ID || list.NextOffset == nil || *list.NextOffset != 1 {
		t.Errorf("the sessions: %s", list.text)
	}
	if gone := f.ask(t, "DELETE", path, ""); gone.status != 204 || gone.text != "" {
		t.Errorf("DELETE: %d %s", gone.status, gone.text)
	}
	for _, left := range []string{path, path + "/runs", path + "/events", second.header.Get("Location")} {
		if a := f.ask(t, "GET", left, ""); a.status != 404 {
			t.Errorf("%s after DELETE: %d", left, a.status)
		}
	}
}

// TestInterrupt holds that an interrupt ends the run, and that the session goes on.
func TestInterrupt(t *testing.T) {
	f := newFixture(t, server.BackendLimits{}, rest.Options{})
	id, run := f.start(t, "wait")
	path := "/sessions/" + id
	ended := f.ask(t, "POST", path+"/interrupt", "", "Prefer: wait=170")
	if ended.status != 200 || ended.ID != run || ended.Status != "interrupted" || ended.Error == nil {
		t.Errorf("interrupt: %d %s", ended.status, ended.text)
	}
	if again := f.ask(t, "POST", path+"/runs", `{"prompt":"go on"}`, "Prefer: wait=170"); again.Status != "completed" {
		t.Errorf("the run after it: %s", again.text)
	}
}

// TestNeverStoredSession holds that the session of a run that ended before it began
// takes another run, with the system prompt of the first.
func TestNeverStoredSession(t *testing.T) {
	f := newFixture(t, server.BackendLimits{}, rest.Options{})
	f.failOpening.Store(true)
	first := f.ask(t, "POST", "/sessions", `{"prompt":"hi","system":"be brief"}`, "Prefer: wait=170")
	path := "/sessions/" + first.SessionID
	if shown := f.ask(t, "GET", path, ""); first.Status != "failed" || shown.status != 200 || shown.Messages != 0 {
		t.Fatalf("%s; its session: %d %s", first.text, shown.status, shown.text)
	}
	f.failOpening.Store(false)
	if next := f.ask(
		t, "POST", path+"/runs", `{"prompt":"go on"}`, "Prefer: wait=170",
	); next.Status != "completed" || next.SessionID != first.SessionID {
		t.Errorf("the run after it: %s", next.text)
	}
	if s, err := f.store.Load(
		t.Context(), session.ID(first.SessionID),
	); err != nil || s.Prefix == nil || s.Prefix.System != "be brief" {
		t.Errorf("its session: %v, prefix %+v", err, s.Prefix)
	}
}

// TestErrors holds that each error is a problem that names the object.
func TestErrors(t *testing.T) {
	f := newFixture(t, server.BackendLimits{Runs: 2}, rest.Options{})
	idle, _ := f.start(t, "hi")
	spent := f.ask(t, "POST", "/sessions", `{"prompt":"hi","budget":{"max_turns":1}}`, "Prefer: wait=170").SessionID
	busy, run := f.start(t, "wait")
	empty := session.ID("0199a2b4-0000-7000-8000-000000000001")
	w, err := f.store.Create(t.Context(), session.Header{Version: session.Version, ID: empty})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	const unknown = "/sessions/0199a2b4-0000-7000-8000-000000000002"
	for _, c := range []struct {
		request, body, headers string
		status                 int
		detail                 string
	}{
		{"GET /sessions", "", "Authorization: ", 401, "authorization: "},
		{"GET /openapi.json", "", "Authorization: Bearer wrong-wrong-wrong-wrong", 401, "authorization: "},
		{"GET /nothing", "", "Authorization: ", 401, "authorization: "},
		{"POST /sessions", `{"prompt":"hi"}`, "Origin: https://evil.example", 403, "origin: "},
		{"GET /sessions", "", "Sec-Fetch-Site: cross-site", 403, "origin: "},
		{"GET /nothing", "", "", 404, `path: "/nothing"`},
		{"GET " + unknown, "", "", 404, "session 0199a2b4"},
		{"GET " + unknown + "/events", "", "", 404, "session 0199a2b4"},
		{"POST " + unknown + "/runs", `{"prompt":"hi"}`, "", 404, "session 0199a2b4"},
		{"DELETE " + unknown, "", "", 404, "session 0199a2b4"},
		{"GET /sessions/" + idle + "/runs/" + run, "", "", 404, `run "` + run},
		{"GET /sessions/nonsense", "", "", 422, "path.id: "},
		{"PUT /sessions", `{}`, "", 405, "method: "},
		{"OPTIONS /sessions", "", "", 405, "method: "},
		{"GET /sessions", "", "Accept: text/html", 406, "accept: application/json"},
		{"GET /sessions/" + idle + "/events", "", "Accept: application/json", 406, "accept: text/event-stream"},
		{"POST /sessions", `{"prompt":"hi"}`, "Content-Type: text/plain", 415, "body: "},
		{"POST /sessions", `{"prompt":"hi"}`, "Content-Encoding: br", 415, "content-encoding: "},
		{"GET /sessions", "", "Content-Encoding: gzip", 415, "content-encoding: "},
		{"GET /sessions", "", "Host: evil.example", 403, "host: "},
		{"POST /sessions", `{"prompt":`, "", 400, "body: "},
		{"POST /sessions", `{}`, "", 422, "body: "},
		{"POST /sessions", `{"prompt":" "}`, "", 422, "body.prompt: "},
		{"POST /sessions", `{"prompt":"hi","nothing":1}`, "", 422, "body.nothing: "},
		{"POST /sessions", `{"prompt":"hi","model":"gpt-99"}`, "", 422, `model "gpt-99"`},
		{"POST /sessions", `{"prompt":"hi","metadata":{"a b":"c"}}`, "", 422, `body.metadata "a b"`},
		{
			"POST /sessions", `{"prompt":"hi","attachments":[{"media_type":"image/png","data":"%"}]}`, "", 422,
			"body.attachments[0].data: ",
		},
		{"POST /sessions", `{"prompt":"hi"}`, "Prefer: wait=soon", 400, "header Prefer: "},
		{"POST /sessions", `{"prompt":"` + strings.Repeat("x", server.MaxMessage) + `"}`, "", 413, "body: "},
		{"GET /sessions?limit=0", "", "", 422, "query.limit: "},
		{"GET /sessions?page=1", "", "", 422, "query.page: "},
		{"GET /sessions/" + idle + "/events", "", "Last-Event-ID: 1", 400, "header Last-Event-ID: "},
		{"POST /sessions/" + busy + "/runs", `{"prompt":"hi"}`, "", 409, "session " + busy},
		{"DELETE /sessions/" + busy, "", "", 409, "session " + busy},
		{"POST /sessions/" + idle + "/interrupt", "", "", 409, "session " + idle},
		{"DELETE /sessions/" + string(empty), "", "", 409, "session " + string(empty)},
		{"POST /sessions/" + string(empty) + "/fork", `{}`, "", 422, "body.messages: "},
		{"POST /sessions/" + idle + "/fork", `{"messages":99}`, "", 422, "body.messages: "},
		{"POST /sessions/" + spent + "/runs", `{"prompt":"hi"}`, "", 429, "session " + spent},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		var headers []string
		if c.headers != "" {
			headers = append(headers, c.headers)
		}
		a := f.ask(t, method, path, c.body, headers...)
		if a.status != c.status || a.header.Get("Content-Type") != "application/problem+json" ||
			!strings.HasPrefix(a.Detail, c.detail) || a.Status != float64(c.status) {
			t.Errorf(
				"%s %s: %d %s %s; want %d and %q", c.request, c.headers, a.status, a.header.Get("Content-Type"),
				a.text, c.status, c.detail,
			)
		}
		if a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: it allows other origins", c.request)
		}
	}
}

// TestLimits holds that a larger budget lets a session go on, and what a client is told when
// no more runs are accepted.
func TestLimits(t *testing.T) {
	f := newFixture(t, server.BackendLimits{Runs: 2}, rest.Options{})
	spent := f.ask(t, "POST", "/sessions", `{"prompt":"hi","budget":{"max_turns":1}}`, "Prefer: wait=170").SessionID
	if more := f.ask(
		t, "POST", "/sessions/"+spent+"/runs", `{"prompt":"hi","budget":{"max_turns":2}}`, "Prefer: wait=170",
	); more.Status != "completed" {
		t.Errorf("with a larger budget: %s", more.text)
	}
	f.start(t, "wait")
	f.start(t, "wait")
	full := f.ask(t, "POST", "/sessions", `{"prompt":"hi"}`)
	if full.status != 429 || full.header.Get("Retry-After") == "" || !strings.HasPrefix(full.Detail, "server: 2 runs") {
		t.Errorf("more runs than allowed: %d %v %s", full.status, full.header, full.text)
	}
}

// TestIdempotency holds that a key is one run, for 50 clients at once, and one request.
func TestIdempotency(t *testing.T) {
	f := newFixture(t, server.BackendLimits{}, rest.Options{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	ids := map[string]int{}
	for range 50 {
		wg.Go(func() {
			a := f.ask(t, "POST", "/sessions", `{"prompt":"hi"}`, "Idempotency-Key: k")
			mu.Lock()
			defer mu.Unlock()
			ids[a.ID]++
		})
	}
	wg.Wait()
	if list := f.ask(t, "GET", "/sessions", ""); len(ids) != 1 || len(list.Sessions) > 1 {
		t.Errorf("50 requests with one key are the runs %v of sessions %s", ids, list.text)
	}
	if other := f.ask(
		t, "POST", "/sessions", `{"prompt":"ho"}`, "Idempotency-Key: k",
	); other.status != 422 || !strings.HasPrefix(other.Detail, "idempotency key ") {
		t.Errorf("another request with the key: %d %s", other.status, other.text)
	}
}

// TestDrain holds that a server that stops accepts no run, answers reads, and leaves
// sessions that can be resumed.
func TestDrain(t *testing.T) {
	f := newFixture(t, server.BackendLimits{}, rest.Options{})
	id, run := f.start(t, "wait")
	ended, cancel := contextEnded()
	cancel()
	if err := f.api.Drain(ended); err != nil {
		t.Fatal(err)
	}
	late := f.ask(t, "POST", "/sessions", `{"prompt":"hi"}`)
	health := f.ask(t, "GET", "/healthz", "", "Authorization: ")
	if late.status != 503 || late.header.Get("Retry-After") == "" || health.status != 503 {
		t.Errorf("while it stops: %d %s, health %d", late.status, late.text, health.status)
	}
	if got := f.ask(t, "GET", "/sessions/"+id+"/runs/"+run, ""); got.Status != "interrupted" {
		t.Errorf("the run: %s", got.text)
	}
	s, err := f.store.Load(t.Context(), session.ID(id))
	if err != nil || s.Whole() != nil || len(s.Messages) == 0 || len(s.RunEnds) != 1 {
		t.Errorf(
			"the session: %v, %d messages, %d ends; %s", err, len(s.Messages), len(s.RunEnds),
			f.ask(t, "GET", "/sessions/"+id+"/runs/"+run, "").text,
		)
	}
}

// TestTrace holds that the trace of a request goes to its run, and a malformed one does
// not.
func TestTrace(t *testing.T) {
	f := newFixture(t, server.BackendLimits{}, rest.Options{})
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, c := range []struct{ sent, want string }{{parent, parent}, {"00-zz", ""}} {
		a := f.ask(t, "POST", "/sessions", `{"prompt":"hi"}`, "traceparent: "+c.sent, "Prefer: wait=170")
		events := f.readEvents(t, a.SessionID, "", 1)
		if has := strings.Contains(events[0].data, `"traceparent":"`+parent+`"`); has != (c.want != "") {
			t.Errorf("traceparent %s: run_started is %s", c.sent, events[0].data)
		}
	}
}

// TestHead holds that HEAD is answered without a body, and that the document is served.
func TestHead(t *testing.T) {
	f := newFixture(t, server.BackendLimits{}, rest.Options{})
	if a := f.ask(t, http.MethodHead, "/sessions", ""); a.status != 200 || a.text != "" {
		t.Errorf("HEAD: %d %q", a.status, a.text)
	}
	if a := f.ask(t, "GET", "/openapi.json", ""); a.text != string(f.api.Document()) {
		t.Errorf("/openapi.json is not the document: %.200s", a.text)
	}
}

// brokenStore is a store whose sessions cannot be read.
type brokenStore struct{ session.Store }

var errBroken = errors.New("session database db: cannot be reached")

// List implements session.Store.
func (brokenStore) List(context.Context, session.Filter) ([]session.Info, error) {
	return nil, errBroken
}

// Load implements session.Store.
func (brokenStore) Load(context.Context, session.ID) (session.Session, error) {
	return session.Session{}, errBroken
}

// TestStoreAway holds that a client is told to come again while the sessions cannot be
// read, and that it is no fault of the server.
func TestStoreAway(t *testing.T) {
	f := newFixture(t, server.BackendLimits{}, rest.Options{})
	f.Config.Handler = rest.New(
		server.Host{Store: brokenStore{f.store}, Version: "test"}, f.backend, rest.Options{Token: token},
	).Handler()
	for _, path := range []string{
		"/sessions", "/sessions/0199a2b4-0000-7000-8000-000000000009",
		"/sessions/0199a2b4-0000-7000-8000-000000000009/history",
	} {
		if a := f.ask(t, "GET", path, ""); a.status != 503 || a.header.Get("Retry-After") == "" ||
			!strings.Contains(a.Detail, errBroken.Error()) {
			t.Errorf("%s: %d %s; want 503 with Retry-After", path, a.status, a.text)
		}
	}
}

// awayBackend loses its database when it has accepted a run, or before if it accepts none.
type awayBackend struct {
	server.Backend
	accepts bool
}

var errAway = &session.StorageError{Err: errors.New("session database db: cannot be reached")}

// Submit implements server.RunQueue.
func (b awayBackend) Submit(ctx context.Context, s server.Submission) (server.Run, bool, error) {
	if !b.accepts {
		return server.Run{}, false, errAway
	}
	return b.Backend.Submit(ctx, s)
}

// Wait implements server.RunQueue.
func (awayBackend) Wait(context.Context, server.RunID) (server.Run, error) {
	return server.Run{}, errAway
}

// TestAcceptedBeforeAway: a client that gets 202 has a run, also when the database goes away
// while the client waits for the end. When the run could not be stored, the client is told to
// come again.
func TestAcceptedBeforeAway(t *testing.T) {
	f := newFixture(t, server.BackendLimits{}, rest.Options{})
	for accepts, want := range map[bool]int{true: 202, false: 503} {
		host := server.Host{Store: f.store, Version: "test"}
		f.Config.Handler = rest.New(host, awayBackend{f.backend, accepts}, rest.Options{Token: token}).Handler()
		a := f.ask(t, "POST", "/sessions", `{"prompt":"hi"}`, "Prefer: wait=170")
		if a.status != want || accepts == (a.SessionID == "") || accepts == (a.header.Get("Retry-After") != "") ||
			a.header.Get("Preference-Applied") != "" {
			t.Errorf("accepted %v: %d %v %s; want %d", accepts, a.status, a.header, a.text, want)
		}
	}
}
