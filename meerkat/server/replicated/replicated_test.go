package replicated_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meerkat-go/conformance/internal/postgrestest"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/server/replicated"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/sqlstore"
)

var database postgrestest.Server

func TestMain(m *testing.M) { os.Exit(database.Main(m)) }

// replica is a Backend with the connections that a test can take away.
type replica struct {
	*replicated.Backend
	store *sqlstore.Postgres
}

// openReplica returns a replica on a database; it is closed with the test.
func openReplica(t *testing.T, url, name string, execute server.Execute, o replicated.Options) replica {
	t.Helper()
	store, err := sqlstore.OpenPostgres(t.Context(), sqlstore.Options{URL: url, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	b, err := replicated.Open(t.Context(), store, execute, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return replica{b, store}
}

// attempt is what a replica was told to execute.
type attempt struct {
	replica string
	run     server.Run
	control server.Control
	cause   chan error // receives why its context ended
	finish  chan struct{}
}

// openPair returns two replicas on one database. Each run that one of them begins is
// received from begun.
func openPair(t *testing.T, url string, o replicated.Options) (pair map[string]replica, begun <-chan attempt) {
	t.Helper()
	all := make(chan attempt, 16)
	pair = map[string]replica{}
	for _, name := range []string{"one", "two"} {
		pair[name] = openReplica(t, url, name,
			func(ctx context.Context, r server.Run, c server.Control) server.Outcome {
				a := attempt{name, r, c, make(chan error, 1), make(chan struct{})}
				all <- a
				select {
				case <-a.finish:
					return server.Outcome{Status: server.StatusCompleted, Text: name}
				case <-ctx.Done():
					a.cause <- context.Cause(ctx)
					return server.Outcome{Status: server.StatusInterrupted, ErrorKind: "interrupted"}
				}
			}, o)
	}
	return pair, all
}

func otherThan(pair map[string]replica, name string) replica {
	for other, r := range pair {
		if other != name {
			return r
		}
	}
	return replica{}
}

func submitRun(t *testing.T, b server.Backend) server.Run {
	t.Helper()
	r, repeated, err := b.Submit(t.Context(), server.Submission{Key: "k", Task: server.Task{Prompt: "hi"}})
	if err != nil || repeated {
		t.Fatal(repeated, err)
	}
	return r
}

// TestOverReplicas checks that a client need not know which replica executes its run.
func TestOverReplicas(t *testing.T) {
	pair, begun := openPair(t, database.Database(t), replicated.Options{})
	r := submitRun(t, pair["one"])
	a := <-begun
	other := otherThan(pair, a.replica)
	if again, repeated, err := other.Submit(t.Context(), server.Submission{
		Key: "k", Task: server.Task{Prompt: "hi"},
	}); err != nil || !repeated || again.ID != r.ID {
		t.Errorf("the key again: %+v, %v, %v", again, repeated, err)
	}
	if _, _, err := other.Submit(t.Context(), server.Submission{Session: r.Session}); !errors.As(err, new(*server.BusyError)) {
		t.Errorf("a second run: %v, want *BusyError", err)
	}
	if _, err := other.Steer(t.Context(), r.Session, "left"); err != nil {
		t.Error(err)
	}
	if taken := a.control.TakeSteering(); len(taken) != 1 || taken[0].Text != "left" {
		t.Errorf("took %+v", taken)
	}
	a.control.Append("x", []byte("1"))
	if page, err := other.Events(t.Context(), r.Session, server.Position{}, 10); err != nil || len(page.Events) != 1 {
		t.Errorf("%+v, %v", page, err)
	}
	if _, err := other.Interrupt(t.Context(), r.Session); err != nil {
		t.Error(err)
	}
	if cause := <-a.cause; !errors.Is(cause, server.ErrInterrupted) {
		t.Errorf("ended because of %v, want ErrInterrupted", cause)
	}
	if r, err := other.Wait(t.Context(), r.ID); err != nil || r.Status != server.StatusInterrupted {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestDeadReplica takes away a replica's connections for good: another goes on with its
// run, under the same id, and what the first still does is not kept.
func TestDeadReplica(t *testing.T) {
	pair, begun := openPair(t, database.Database(t), replicated.Options{DeadAfter: time.Second})
	r := submitRun(t, pair["one"])
	first := <-begun
	first.control.Append("x", []byte("1"))
	other := otherThan(pair, first.replica)
	if _, err := other.Events(t.Context(), r.Session, server.Position{}, 10); err != nil {
		t.Fatal(err)
	}
	if err := pair[first.replica].store.Close(); err != nil {
		t.Fatal(err)
	}
	second := <-begun
	if second.replica == first.replica || second.run.ID != r.ID || second.run.Attempt != 2 ||
		!second.run.Started.Equal(first.run.Started) {
		t.Errorf("%s executes %+v after %s had %+v", second.replica, second.run, first.replica, first.run)
	}
	first.control.Append("x", []byte("lost"))
	close(first.finish)
	second.control.Append("x", []byte("2"))
	close(second.finish)
	if got, err := other.Wait(t.Context(), r.ID); err != nil || got.Outcome == nil ||
		got.Outcome.Text != second.replica {
		t.Errorf("%+v, %v", got, err)
	}
	page, err := other.Events(t.Context(), r.Session, server.Position{}, 10)
	if err != nil || len(page.Events) != 2 || string(page.Events[1].Data) != "2" ||
		page.Events[1].Position.Number != 2 {
		t.Errorf("%+v, %v", page, err)
	}
}

// TestLostRun puts rows into the tables as a replica leaves them that is killed, or loses
// the database, at the worst moment. Each run is executed all the same, once.
func TestLostRun(t *testing.T) {
	url := database.Database(t)
	pair, begun := openPair(t, url, replicated.Options{DeadAfter: time.Second})
	executed := submitRun(t, pair["one"]) // its row has the number of a replica that lives
	close((<-begun).finish)
	if _, err := pair["one"].Wait(t.Context(), executed.ID); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	const fetched = `INSERT INTO meerkat.river_job (kind, state, max_attempts, attempt, attempted_at, attempted_by, args)
		VALUES ('meerkat_run', 'running', 10, 1, now(), '{dead}', jsonb_build_object('run', $1::text, 'attempt', $2::integer))`
	const row = `INSERT INTO meerkat.runs (id, session, new_session, status, attempt, task, fingerprint, created, replica)
		SELECT $1, $2, true, $3, $4, '{}', '', now(), `
	for i, c := range []struct {
		name, status string
		attempt      int
		replica      string
		fetched      bool
	}{
		{"fetched and not begun", "queued", 0, "NULL", true},
		{"fetched again and not begun", "queued", 3, "NULL", true},
		{"without a job", "queued", 0, "NULL", false},
		{"begun, and its replica does not know", "running", 1, "(SELECT max(replica) FROM meerkat.runs)", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := server.RunID(fmt.Sprintf("0199a2b4-0000-7000-8000-%012d", i))
			tx, err := conn.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = tx.Exec(t.Context(), row+c.replica, string(id), string(id), c.status, c.attempt)
			if err == nil && c.fetched {
				_, err = tx.Exec(t.Context(), fetched, string(id), c.attempt)
			}
			if err := errors.Join(err, tx.Commit(t.Context())); err != nil {
				t.Fatal(err)
			}
			a := <-begun
			if a.run.ID != id || a.run.Attempt != c.attempt+1 {
				t.Errorf("%+v is executed", a.run)
			}
			close(a.finish)
			if got, err := pair["two"].Wait(t.Context(), id); err != nil || got.Status != server.StatusCompleted ||
				len(begun) > 0 {
				t.Errorf("%+v, %v; %d more attempts", got, err, len(begun))
			}
		})
	}
}

// TestBrokenConnections breaks all connections of a replica: its run goes on there.
func TestBrokenConnections(t *testing.T) {
	url := database.Database(t)
	pair, begun := openPair(t, url, replicated.Options{DeadAfter: 5 * time.Second})
	r := submitRun(t, pair["one"])
	a := <-begun
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(
		t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1",
		"rkat "+a.replica,
	)
	if err := errors.Join(err, conn.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	other := otherThan(pair, a.replica)
	if _, err := other.Interrupt(t.Context(), r.Session); err != nil {
		t.Fatal(err)
	}
	if cause := <-a.cause; !errors.Is(cause, server.ErrInterrupted) {
		t.Errorf("ended because of %v, want ErrInterrupted", cause)
	}
	if got, err := other.Wait(t.Context(), r.ID); err != nil || got.Attempt != 1 ||
		got.Status != server.StatusInterrupted {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestDrainHandsOver checks that a run that a stopping replica cuts off goes on in
// another.
func TestDrainHandsOver(t *testing.T) {
	pair, begun := openPair(t, database.Database(t), replicated.Options{})
	r := submitRun(t, pair["one"])
	first := <-begun
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := pair[first.replica].Drain(over); err != nil {
		t.Fatal(err)
	}
	if cause := <-first.cause; !errors.Is(cause, server.ErrDraining) {
		t.Errorf("ended because of %v, want ErrDraining", cause)
	}
	second := <-begun
	if second.replica == first.replica || second.run.ID != r.ID || second.run.Attempt != 2 {
		t.Errorf("%s executes %+v", second.replica, second.run)
	}
	close(second.finish)
	if got, err := otherThan(pair, first.replica).Wait(t.Context(), r.ID); err != nil ||
		got.Status != server.StatusCompleted {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSkewedClock: the clock of a replica says nothing. A run whose id comes from a clock
// that is fast is not the newest of its session when another follows.
func TestSkewedClock(t *testing.T) {
	url := database.Database(t)
	pair, begun := openPair(t, url, replicated.Options{})
	submit := func(id session.ID) server.Run {
		r, _, err := pair["one"].Submit(t.Context(), server.Submission{Session: id, Task: server.Task{Prompt: "hi"}})
		if err != nil {
			t.Fatal(err)
		}
		a := <-begun
		close(a.finish)
		if r, err = pair["two"].Wait(t.Context(), r.ID); err != nil || r.Created.IsZero() ||
			r.Started.Before(r.Created) || r.Ended.Before(r.Started) {
			t.Fatalf("%+v, %v", r, err)
		}
		return r
	}
	first := submit("")
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	const fast = "ffffffff-0000-7000-8000-000000000001"
	if _, err := conn.Exec(
		t.Context(), "UPDATE meerkat.runs SET id = $2 WHERE id = $1", string(first.ID), fast,
	); err != nil {
		t.Fatal(err)
	}
	second := submit(first.Session)
	for before, want := range map[server.RunID]server.RunID{"": second.ID, second.ID: fast} {
		if runs, err := pair["two"].Runs(
			t.Context(), first.Session, before, 1,
		); err != nil || len(runs) != 1 || runs[0].ID != want {
			t.Errorf("before %q: %+v, %v; want %s", before, runs, err, want)
		}
	}
}

// TestNewerSchema checks that a replica of an older version does not start.
func TestNewerSchema(t *testing.T) {
	one := openReplica(t, database.Database(t), "one", nil, replicated.Options{})
	if _, err := one.store.Pool().Exec(
		t.Context(), "INSERT INTO meerkat.versions (part, version) VALUES ('runs', 1000)",
	); err != nil {
		t.Fatal(err)
	}
	if _, err := replicated.Open(
		t.Context(), one.store, nil, replicated.Options{},
	); !errors.As(err, new(*session.VersionError)) {
		t.Errorf("%v, want *VersionError", err)
	}
}

// TestNotedAway checks that people are told once that the database went away, and once
// that it is back.
func TestNotedAway(t *testing.T) {
	var server postgrestest.Server
	t.Cleanup(server.Close)
	notes := make(chan string, 10)
	openReplica(t, server.Database(t), "one", nil, replicated.Options{
		Note: func(format string, args ...any) { notes <- fmt.Sprintf(format, args...) },
	})
	server.Stop(t)
	if note := <-notes; !strings.Contains(note, "; runs under way wait for it") ||
		strings.Contains(note, postgrestest.Password) {
		t.Error(note)
	}
	server.Restart(t)
	if note := <-notes; note != "the session database is back" || len(notes) > 0 {
		t.Error(note, len(notes))
	}
}

// TestSteeringOfALostAnswer checks that a message is delivered that the database marked as taken
// while the answer was lost, and delivered once.
func TestSteeringOfALostAnswer(t *testing.T) {
	url := database.Database(t)
	pair, begun := openPair(t, url, replicated.Options{})
	r := submitRun(t, pair["one"])
	a := <-begun
	for _, text := range []string{"first", "second"} {
		if _, err := pair["one"].Steer(t.Context(), r.Session, text); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), "UPDATE meerkat.steering SET status = 'applied' WHERE message LIKE '%first%'")
	if err := errors.Join(err, conn.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 3 {
		for _, s := range a.control.TakeSteering() {
			got = append(got, s.Text)
		}
	}
	if strings.Join(got, " ") != "first second" {
		t.Errorf("taken: %q", got)
	}
	close(a.finish)
}
