package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meerkat-go/conformance/internal/postgrestest"
	"github.com/meerkat-go/conformance/internal/standin"
)

// replicaToken is what clients of the replicas send.
const replicaToken = "a-token-for-the-replicas"

// replica is one process of rkat serve.
type replica struct {
	cmd     *exec.Cmd
	address string
	stderr  *bytes.Buffer
}

// cluster is some replicas on one database behind a load balancer that knows nothing of
// them but their addresses.
type cluster struct {
	*stage
	database string
	args     []string // of each replica
	balancer *httptest.Server

	mu       sync.Mutex
	replicas []*replica
	turn     int
}

// newCluster starts n replicas.
func newCluster(t *testing.T, s *stage, database string, n int, args ...string) *cluster {
	t.Helper()
	c := &cluster{stage: s, database: database, args: append(args, "--drain", "1s")}
	for range n {
		c.startReplica()
	}
	c.balancer = httptest.NewServer(standin.ReadFirst(&httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(c.nextReplica()) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}))
	t.Cleanup(c.balancer.Close)
	return c
}

// startReplica starts another replica and waits until it listens.
func (c *cluster) startReplica() *replica {
	c.Helper()
	r := c.startServer([]string{"RKAT_DATABASE_URL=" + c.database}, c.args...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replicas = append(c.replicas, r)
	return r
}

// startServer starts rkat serve and waits until it listens.
func (s *stage) startServer(env []string, args ...string) *replica {
	s.Helper()
	r := &replica{cmd: s.command(append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...),
		stderr: &bytes.Buffer{}}
	r.cmd.Env = append(append(r.cmd.Env, "RKAT_SERVER_TOKEN="+replicaToken), env...)
	r.cmd.Stderr = r.stderr
	out, err := r.cmd.StdoutPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
		if s.Failed() {
			s.Logf("server %d:\n%s", r.cmd.Process.Pid, r.stderr)
		}
		if strings.Contains(r.stderr.String(), postgrestest.Password) {
			s.Errorf("a server shows the password:\n%s", r.stderr)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = r.cmd.Wait()
		s.Fatalf("a server does not start: %v\n%s", err, r.stderr)
	}
	r.address = strings.TrimSpace(line)
	return r
}

// nextReplica returns the address of the next replica, dead or alive.
func (c *cluster) nextReplica() *url.URL {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn++
	u, _ := url.Parse(c.replicas[c.turn%len(c.replicas)].address)
	return u
}

// killReplica ends the replica that writes a session, as kill -9 does.
func (c *cluster) killReplica(id string) {
	c.Helper()
	conn, err := pgx.Connect(c.Context(), c.database)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var writer string
	if err := conn.QueryRow(c.Context(), "SELECT writer FROM meerkat.sessions WHERE id = $1", id).Scan(&writer); err != nil {
		c.Fatal(err)
	}
	c.killNamed(writer)
}

// killNamed ends the replica of that name.
func (c *cluster) killNamed(name string) {
	c.Helper()
	pid, err := strconv.Atoi(name[strings.LastIndexByte(name, ' ')+1:])
	if err != nil {
		c.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.replicas {
		if r.cmd.Process.Pid == pid {
			if code := c.ends(r.cmd, syscall.SIGKILL); code != -1 {
				c.Fatalf("the replica ended by itself: %d", code)
			}
			return
		}
	}
	c.Fatalf("no replica is %q", name)
}

// servedRun is what a test reads of a run.
type servedRun struct {
	ID        string
	SessionID string `json:"session_id"`
	Status    any    // a word of a run, a number of a problem
	Attempt   int
	Result    struct{ Text string }
	Error     struct{ Kind, Message string }
	Detail    string // of a problem
}

// ask sends a request to some address and returns the status and the answer.
func (s *stage) ask(address, method, path string, body any, headers ...string) (int, servedRun) {
	s.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.Fatal(err)
	}
	request, err := http.NewRequestWithContext(s.Context(), method, address+path, bytes.NewReader(text))
	if err != nil {
		s.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+replicaToken)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var run servedRun
	data, err := io.ReadAll(answer.Body)
	if err == nil && len(data) > 0 {
		err = json.Unmarshal(data, &run)
	}
	if err != nil {
		s.Fatalf("%s %s: %d %v %s", method, path, answer.StatusCode, err, data)
	}
	return answer.StatusCode, run
}

// insist asks the load balancer until a replica that lives answers, as clients do that
// have an idempotency key.
func (c *cluster) insist(method, path string, body any, headers ...string) (int, servedRun) {
	c.Helper()
	for range 20 {
		if status, run := c.ask(c.balancer.URL, method, path, body, headers...); status != http.StatusBadGateway {
			return status, run
		}
	}
	c.Fatal("no replica answers")
	return 0, servedRun{}
}

// startRun starts a session through the load balancer.
func (c *cluster) startRun(prompt, model string) servedRun {
	c.Helper()
	status, run := c.insist(http.MethodPost, "/sessions", map[string]string{"prompt": prompt, "model": model},
		"Idempotency-Key", c.Name(), "traceparent", traceParent)
	if status != http.StatusAccepted {
		c.Fatalf("POST /sessions: %d %+v", status, run)
	}
	return run
}

// awaitRun waits for the end of a run.
func (c *cluster) awaitRun(r servedRun) servedRun {
	c.Helper()
	_, run := c.insist(http.MethodGet, "/sessions/"+r.SessionID+"/runs/"+r.ID, nil, "Prefer", "wait=60")
	return run
}

// replicaDatabase is the server of these tests.
var replicaDatabase postgrestest.Server

// TestReplicaKilledInTool kills a replica while a tool pays. Another one goes on with the
// run under the same id, is told that the payment may have been made, and does not pay
// again.
func TestReplicaKilledInTool(t *testing.T) {
	database := replicaDatabase.Database(t)
	s := newStage(t, newStrict(t), newDesk(t, "pay"))
	c := newCluster(t, s, database, 3)
	run := c.startRun(`Call srv__look and srv__pay with "rent".`, leads[0])
	<-s.desk.began
	c.killReplica(run.SessionID)
	s.desk.release()
	if again := c.startRun(`Call srv__look and srv__pay with "rent".`, leads[0]); again.ID != run.ID {
		t.Errorf("the key again is run %s, not %s", again.ID, run.ID)
	}
	got := c.awaitRun(run)
	if got.ID != run.ID || got.Status != "completed" || got.Attempt != 2 ||
		!strings.Contains(got.Result.Text, mayHaveRun) {
		t.Errorf("%+v", got)
	}
	s.ran("look rent", "pay rent")
	c.checkTrace(run)
}

// traceParent is the trace context of clients.
const traceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// checkTrace holds that both attempts of a run belong to the trace of its client.
func (c *cluster) checkTrace(run servedRun) {
	c.Helper()
	conn, err := pgx.Connect(c.Context(), c.database)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var began, traced int
	err = conn.QueryRow(c.Context(),
		"SELECT count(*), count(*) FILTER (WHERE convert_from(data, 'UTF8')::json ->> 'traceparent' = $2) FROM meerkat.events WHERE session = $1 AND kind = 'run_started'",
		run.SessionID, traceParent).Scan(&began, &traced)
	if err != nil || began != 2 || traced != 2 {
		c.Errorf("%d attempts, %d of them in the trace: %v", began, traced, err)
	}
}

// TestReplicaKilledInStream kills a replica while a reply arrives. Another one asks again
// and answers.
func TestReplicaKilledInStream(t *testing.T) {
	for _, model := range leads {
		t.Run(model, func(t *testing.T) {
			database := replicaDatabase.Database(t)
			begun := turn(thinking("I think."), text("It begins and ends."))
			begun.Stall, begun.Times = stall(6), 1
			s := newStage(t, newStrict(t, begun), newDesk(t))
			c := newCluster(t, s, database, 2)
			run := c.startRun("Begin.", model)
			<-s.provider.arrived
			c.killReplica(run.SessionID)
			if got := c.awaitRun(run); got.Status != "completed" || got.Attempt != 2 ||
				got.Result.Text != "It begins and ends." {
				t.Errorf("%+v", got)
			}
			if sent := s.provider.asked(0); len(sent) != 2 || !bytes.Equal(sent[0], sent[1]) {
				t.Errorf("%d requests", len(sent))
			}
		})
	}
}

// TestReplicasWantOneSession asks two replicas for a run of the same session: one wins.
func TestReplicasWantOneSession(t *testing.T) {
	database := replicaDatabase.Database(t)
	s := newStage(t, newStrict(t), newDesk(t, "pay"))
	c := newCluster(t, s, database, 2)
	first := c.startRun(`Call srv__look with "rent".`, leads[0])
	c.awaitRun(first)
	answers := make(chan int)
	for _, r := range c.replicas {
		go func() {
			var status int
			defer func() { answers <- status }() // also when the request fails
			var run servedRun
			status, run = c.ask(r.address, http.MethodPost, "/sessions/"+first.SessionID+"/runs",
				map[string]string{"prompt": `Call srv__pay with "more".`})
			if status == http.StatusConflict &&
				!strings.Contains(run.Detail, "is under way; wait for it or interrupt it") {
				t.Errorf("%+v", run)
			}
		}()
	}
	if sum := <-answers + <-answers; sum != http.StatusAccepted+http.StatusConflict {
		t.Errorf("the statuses add up to %d; want one 202 and one 409", sum)
	}
	<-s.desk.began
	s.desk.release()
	var last servedRun
	for range 2 { // the one that lost wins afterwards
		_, last = c.insist(http.MethodPost, "/sessions/"+first.SessionID+"/runs",
			map[string]string{"prompt": `Call srv__look with "again".`}, "Prefer", "wait=60",
			"Idempotency-Key", "again")
		if last.Status == "completed" {
			break
		}
		c.awaitActive(first.SessionID)
	}
	if last.Status != "completed" {
		t.Errorf("%+v", last)
	}
	s.ran("look rent", "pay more", "look again")
}

// awaitActive waits until no run of a session is under way.
func (c *cluster) awaitActive(id string) {
	c.Helper()
	conn, err := pgx.Connect(c.Context(), c.database)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for active := true; active; {
		if err := conn.QueryRow(c.Context(),
			"SELECT EXISTS (SELECT FROM meerkat.runs WHERE session = $1 AND ended IS NULL)",
			id).Scan(&active); err != nil {
			c.Fatal(err)
		}
	}
}

// TestOlderReplica checks that a replica refuses what a newer one has written: a session,
// and the tables when it starts.
func TestOlderReplica(t *testing.T) {
	database := replicaDatabase.Database(t)
	s := newStage(t, newStrict(t), newDesk(t))
	c := newCluster(t, s, database, 1)
	run := c.startRun("Hello.", leads[0])
	c.awaitRun(run)
	if code, out := c.withDatabase("doctor"); code != 0 ||
		!strings.Contains(out, ", 1 session\n  sessions: tables of version 1\n  runs: tables of version 2\n") {
		t.Errorf("rkat doctor: %d %s", code, out)
	}
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	newer := fmt.Sprintf(`{"record":"header","version":99,"id":%q,"created_at":"2026-01-01T00:00:00Z"}`+"\n",
		run.SessionID)
	if _, err := conn.Exec(t.Context(), "UPDATE meerkat.records SET lines = $1 WHERE number = 0", []byte(newer)); err != nil {
		t.Fatal(err)
	}
	status, got := c.insist(http.MethodPost, "/sessions/"+run.SessionID+"/runs", map[string]string{"prompt": "Go on."})
	if status != http.StatusConflict || !strings.Contains(got.Detail, "format 99 is newer than") {
		t.Errorf("a newer session: %d %+v", status, got)
	}
	if _, err := conn.Exec(t.Context(), "INSERT INTO meerkat.versions (part, version) VALUES ('sessions', 2)"); err != nil {
		t.Fatal(err)
	}
	const refusal = "2 is newer than 1, the newest known here; upgrade to read it"
	if code, out := c.withDatabase("serve", "--listen", "127.0.0.1:0"); code != 65 || !strings.Contains(out, refusal) {
		t.Errorf("newer tables: %d %s", code, out)
	}
	if code, out := c.withDatabase("doctor"); code != 1 || !strings.Contains(out, refusal) {
		t.Errorf("newer tables: %d %s", code, out)
	}
	if _, err := conn.Exec(t.Context(),
		"DELETE FROM meerkat.versions WHERE version = 2 AND part = 'sessions'; INSERT INTO meerkat.versions (part, version) VALUES ('runs', 99)"); err != nil {
		t.Fatal(err)
	}
	if code, out := c.withDatabase("serve", "--listen", "127.0.0.1:0"); code != 65 ||
		!strings.Contains(out, "schema of its runs: session format 99 is newer than 2") {
		t.Errorf("newer tables of runs: %d %s", code, out)
	}
}

// withDatabase runs a command of rkat with the database of the replicas, and returns its
// exit code and all that it has printed.
func (c *cluster) withDatabase(args ...string) (int, string) {
	c.Helper()
	cmd := c.command()
	cmd.Args = append(cmd.Args[:1], args...) // doctor knows no --mcp
	cmd.Env = append(cmd.Env, "RKAT_DATABASE_URL="+c.database, "RKAT_SERVER_TOKEN="+replicaToken)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		c.Fatal(err)
	}
	if strings.Contains(string(out), postgrestest.Password) {
		c.Errorf("rkat %s shows the password:\n%s", args[0], out)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// awayTime is how long the database is away.
const awayTime = 10 * time.Second

// TestDatabaseAway takes the database away from two replicas, which run a tool and are
// starting another run, and brings it back.
func TestDatabaseAway(t *testing.T) {
	for _, way := range []string{"restarted", "silent"} {
		t.Run(way, func(t *testing.T) {
			var server postgrestest.Server
			t.Cleanup(server.Close)
			database := server.Database(t)
			s := newStage(t, newStrict(t), newDesk(t, "pay"))
			c := newCluster(t, s, database, 2)
			run := c.startRun(`Call srv__look and srv__pay with "rent".`, leads[2])
			<-s.desk.began
			starting := c.startFresh(`Call srv__look with "late".`)
			if way == "restarted" {
				server.Stop(t)
			} else if err := server.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			s.desk.release()
			<-time.After(awayTime)
			if way == "restarted" {
				server.Restart(t)
			} else if err := server.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			for name, r := range map[string]servedRun{"a run in a tool": run, "a run that is just starting": starting} {
				if got := c.awaitRun(r); got.Status != "completed" {
					t.Errorf("%s: %+v", name, got)
				}
			}
			status, next := c.insist(http.MethodPost, "/sessions/"+run.SessionID+"/runs",
				map[string]string{"prompt": `Call srv__look with "on".`}, "Prefer", "wait=60")
			if status != http.StatusOK || next.Status != "completed" {
				t.Errorf("the session goes on: %d %+v", status, next)
			}
			if fresh := c.awaitRun(c.startFresh(`Call srv__look with "new".`)); fresh.Status != "completed" {
				t.Errorf("a new run: %+v", fresh)
			}
			s.ran("look rent", "look late", "pay rent", "look on", "look new")
		})
	}
}

// startFresh starts another session, without a key.
func (c *cluster) startFresh(prompt string) servedRun {
	c.Helper()
	_, run := c.insist(http.MethodPost, "/sessions", map[string]string{"prompt": prompt, "model": leads[2]})
	return run
}

// withDatabase runs the tests and stops the server after them.
type withDatabase struct{ *testing.M }

// Run returns the exit code of the tests.
func (m withDatabase) Run() int { return replicaDatabase.Main(m.M) }
