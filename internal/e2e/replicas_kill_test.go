package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/internal/postgrestest"
)

// TestReplicaKilledBeforeClaim kills a replica when it has fetched a run from the queue, and
// before the row of the run says so: a trigger holds it there. Another replica begins the
// run, and the client whose session it is gets no 409 for ever.
func TestReplicaKilledBeforeClaim(t *testing.T) {
	t.Parallel()
	database := replicaDatabase.Database(t)
	s := newStage(t, newStrict(t), newDesk(t))
	c := newCluster(t, s, database, 2)
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(t.Context(), `SELECT pg_advisory_lock(4711);
		CREATE FUNCTION meerkat.hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END';
		CREATE TRIGGER hold BEFORE UPDATE ON meerkat.runs FOR EACH ROW WHEN (NEW.status = 'running') EXECUTE FUNCTION meerkat.hold()`)
	if err != nil {
		t.Fatal(err)
	}
	run := c.startRun(`Call srv__look with "rent".`, leads[0])
	var name string
	for name == "" {
		err := conn.QueryRow(t.Context(), `SELECT coalesce(min(application_name), '') FROM pg_stat_activity
			JOIN pg_locks USING (pid) WHERE objid = 4711 AND NOT granted`).Scan(&name)
		if err != nil {
			t.Fatal(err)
		}
	}
	c.killNamed(name)
	var job, row string
	if err := conn.QueryRow(t.Context(), `SELECT j.state::text, r.status FROM meerkat.runs r JOIN meerkat.river_job j
		ON j.args ->> 'run' = r.id WHERE r.id = $1`, run.ID).Scan(&job, &row); err != nil || job != "running" || row != "queued" {
		t.Errorf("the job is %s, the run %s: %v", job, row, err)
	}
	if status, _ := c.insist(http.MethodPost, "/sessions/"+run.SessionID+"/runs", map[string]string{"prompt": "more"}); status != http.StatusConflict {
		t.Errorf("a second run: %d, want 409", status)
	}
	if _, err := conn.Exec(t.Context(), "SELECT pg_advisory_unlock(4711)"); err != nil {
		t.Fatal(err)
	}
	if got := c.awaitRun(run); got.Status != "completed" || got.Attempt != 1 {
		t.Errorf("%+v", got)
	}
	s.ran("look rent")
}

// killRounds names the variable that says how many replicas TestReplicasKilledUnderLoad
// kills. Four sessions belong to each kill, three runs to each session, and the database
// goes away twice if there are ten kills or more, once otherwise.
const killRounds = "MEERKAT_KILL_ROUNDS"

const (
	outage = 5 * time.Second // how long the database is away in that test
	stuck  = 2 * time.Minute // after which a run is not waited for
)

// killLoad is what the clients of the test saw.
type killLoad struct {
	*cluster
	sessions int
	ended    chan servedRun

	mu      sync.Mutex
	paid    map[string]int // how often a payment was made
	refused map[int]int    // answers that let a client ask again
	longest time.Duration
}

// TestReplicasKilledUnderLoad kills one replica after the other while many sessions run,
// starts another in each place and takes the database away: every run that was accepted
// completes, and no payment is made twice.
func TestReplicasKilledUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	kills := 3
	if text := os.Getenv(killRounds); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s: %v", killRounds, err)
		}
		kills = n
	}
	var server postgrestest.Server
	t.Cleanup(server.Close)
	l := &killLoad{sessions: 4 * kills, ended: make(chan servedRun, 12*kills), paid: map[string]int{},
		refused: map[int]int{}}
	provider := newStrict(t)
	go func() {
		for range provider.arrived { // it would be full
		}
	}()
	database := server.Database(t)
	s := newStage(t, provider, newDesk(t))
	tools := newToolServer(l.runTool)
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return tools }, nil))
	t.Cleanup(web.Close)
	if err := os.WriteFile(s.path("mcp.json"), fmt.Appendf(nil, `{"mcpServers":{"srv":{"url":%q}}}`, web.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	l.cluster = newCluster(t, s, database, 3, "--max-runs", strconv.Itoa(l.sessions))
	began := time.Now()
	for i := range l.sessions {
		go l.useSession(i)
	}
	statuses, attempts, killed := map[string]int{}, map[int]int{}, 0
	for n := range 3 * l.sessions {
		got := <-l.ended
		statuses[strings.TrimSpace(fmt.Sprint(got.Status, " ", got.Error.Kind))]++
		attempts[got.Attempt]++
		if got.Status != "completed" {
			t.Errorf("%+v", got)
		}
		if killed == kills || n < (killed+1)*3*l.sessions/(kills+1) {
			continue
		}
		victim := killed % 3
		l.mu.Lock()
		old := l.replicas[victim]
		l.mu.Unlock()
		l.ends(old.cmd, syscall.SIGKILL)
		killed++
		t.Logf("%5.1f s: kill %d, of process %d, when %d runs had ended", time.Since(began).Seconds(), killed,
			old.cmd.Process.Pid, n+1)
		if killed == kills/3 || killed == 2*kills/3 && kills >= 10 {
			server.Stop(t)
			<-time.After(outage)
			server.Restart(t)
			t.Logf("%5.1f s: the database is back after %s", time.Since(began).Seconds(), outage)
		}
		fresh := l.startServer([]string{"RKAT_DATABASE_URL=" + database}, l.args...)
		l.cluster.mu.Lock()
		l.replicas[victim] = fresh
		l.cluster.mu.Unlock()
	}
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var rows, active int
	if err := conn.QueryRow(t.Context(),
		"SELECT count(*), count(*) FILTER (WHERE ended IS NULL) FROM meerkat.runs").Scan(&rows, &active); err != nil {
		t.Fatal(err)
	}
	if rows != 3*l.sessions || active > 0 {
		t.Errorf("%d runs are in the table, %d of them have not ended; want %d and 0", rows, active, 3*l.sessions)
	}
	twice := 0
	for what, n := range l.paid {
		if n > 1 {
			twice++
			t.Errorf("%s ran %d times", what, n)
		}
	}
	t.Logf("%d runs of %d sessions in %.0f s with %d kills: %v, by attempts %v, %d not ended; %d payments, %d of them made twice; the longest run took %.0f s; answers that were asked for again: %v",
		rows, l.sessions, time.Since(began).Seconds(), killed, statuses, attempts, active, len(l.paid), twice,
		l.longest.Seconds(), l.refused)
}

// runTool is a tool that takes half a second, so that a kill finds many of them.
func (l *killLoad) runTool(ctx context.Context, what string) (string, error) {
	if name, _, _ := strings.Cut(what, " "); name == "pay" {
		l.mu.Lock()
		l.paid[what]++
		l.mu.Unlock()
	}
	select {
	case <-time.After(500 * time.Millisecond):
	case <-ctx.Done():
	}
	return what + " is done", ctx.Err()
}

// useSession is a client: it starts a session and goes on with it twice. It sends a request
// again, with the same key, until it is accepted, and asks for the run until that has ended or is stuck.
func (l *killLoad) useSession(i int) {
	path := "/sessions"
	for n := range 3 {
		name := fmt.Sprintf("s%d-%d", i, n)
		began := time.Now()
		body := map[string]string{"prompt": fmt.Sprintf("Call srv__look and srv__pay with %q.", name),
			"model": leads[i%len(leads)]}
		run := l.askAgain(http.MethodPost, path, body, http.StatusAccepted, "Idempotency-Key", name)
		path = "/sessions/" + run.SessionID + "/runs"
		for (run.Status == "queued" || run.Status == "running") && time.Since(began) < stuck {
			run = l.askAgain(http.MethodGet, path+"/"+run.ID, nil, http.StatusOK, "Prefer", "wait=30")
		}
		l.mu.Lock()
		l.longest = max(l.longest, time.Since(began))
		l.mu.Unlock()
		l.ended <- run
	}
}

// askAgain sends a request until the answer is neither that no replica is there nor that the
// database is away.
func (l *killLoad) askAgain(method, path string, body any, want int, headers ...string) servedRun {
	for {
		status, run := l.ask(l.balancer.URL, method, path, body, headers...)
		if status != http.StatusBadGateway && status != http.StatusServiceUnavailable {
			if status != want {
				l.Errorf("%s %s: %d %+v", method, path, status, run)
			}
			return run
		}
		l.mu.Lock()
		l.refused[status]++
		l.mu.Unlock()
		<-time.After(200 * time.Millisecond)
	}
}
