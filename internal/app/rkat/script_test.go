package rkat

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/rkat/backends"
	"github.com/meerkat-go/conformance/schemas"
	"github.com/meerkat-go/conformance/simulator"
)

// TestMain runs rkat when a script calls it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"rkat":         func() { cli.MainWithin(Patience, allBackends.Run) },
		"patient-rkat": func() { cli.MainWithin(func([]string) time.Duration { return time.Hour }, allBackends.Run) },
		"toolserver":   toolServer,
	})
}

// allBackends are those of the command.
var allBackends = Backends{
	Stores:    map[string]OpenStore{"sqlite": backends.SQLite},
	Metrics:   backends.Metrics,
	Spans:     backends.Spans,
	Collector: backends.Collector,
	Page:      backends.Page, REST: backends.REST, Database: backends.Database,
	ExamineDatabase: backends.ExamineDatabase,
}

// TestScripts holds the contract of the commands: flags, output, errors
// and exit codes, every command a process of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Condition: func(condition string) (bool, error) {
			if condition != "tmpfs" {
				return false, fmt.Errorf("%s: no such condition", condition)
			}
			return exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", os.TempDir()).Run() == nil, nil
		},
		Setup: func(e *testscript.Env) error {
			e.Values[arrivals{}] = make(chan (<-chan struct{}), 1)
			e.Setenv("RKAT_SESSION_DIR", filepath.Join(e.WorkDir, "sessions"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, "config"))
			e.Setenv("XDG_DATA_HOME", filepath.Join(e.WorkDir, "data"))
			root, err := filepath.Abs("../../../schemas")
			e.Setenv("SCHEMAS", root)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"scenario":  func(ts *testscript.TestScript, _ bool, args []string) { scenario(t, ts, args) },
			"answers":   func(ts *testscript.TestScript, _ bool, args []string) { answers(t, ts, args) },
			"lines":     lineCount,
			"absent":    absent,
			"converses": func(ts *testscript.TestScript, _ bool, _ []string) { converses(t, ts) },
			"hangs":     func(ts *testscript.TestScript, _ bool, args []string) { hangs(t, ts, args) },
			"arrived":   arrived,
			"newest":    newest,
			"appears":   appears,
			"ndjson":    ndjson,
			"validate":  validate,
		},
	})
}

// exits runs rkat and compares its exit code: exits 64 run.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if ee := (*exec.ExitError)(nil); errors.As(ts.Exec("rkat", args[1:]...), &ee) {
		got = ee.ExitCode()
	}
	if got != want {
		ts.Fatalf(
			"rkat %s exits %d, not %d\n%s%s", strings.Join(args[1:], " "), got, want, ts.ReadFile("stdout"),
			ts.ReadFile("stderr"),
		)
	}
}

// converses starts a provider with a conversation of its own, which calls the
// tools that a prompt names.
func converses(t *testing.T, ts *testscript.TestScript) {
	t.Helper()
	use(ts, newUpstream(t, simulator.New(simulator.Config{Seed: "script"})))
}

// scenario starts a provider that plays a scenario: scenario thinking-tool-loop.
func scenario(t *testing.T, ts *testscript.TestScript, args []string) {
	t.Helper()
	use(ts, newUpstream(t, playing(t, args[0])))
}

func playing(t *testing.T, name string) http.Handler {
	t.Helper()
	return simulator.New(simulator.Config{Scenario: scenarioNamed(t, name), Seed: "script"})
}

// arrivals has the channel of each script's hanging provider.
type arrivals struct{}

// hangs starts a provider that says nothing to the first request and plays a
// scenario for the others: hangs thinking-tool-loop.
func hangs(t *testing.T, ts *testscript.TestScript, args []string) {
	t.Helper()
	first := make(chan struct{})
	var once sync.Once
	play := playing(t, args[0])
	use(ts, newUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hang := false
		once.Do(func() { hang = true })
		if !hang {
			play.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		close(first)
		<-r.Context().Done()
	})))
	ts.Value(arrivals{}).(chan (<-chan struct{})) <- first
}

// arrived waits for the request that hangs.
func arrived(ts *testscript.TestScript, _ bool, _ []string) {
	select {
	case <-<-ts.Value(arrivals{}).(chan (<-chan struct{})):
	case <-time.After(time.Minute):
		ts.Fatalf("no request came")
	}
}

// answers starts a provider that always answers the same: answers 529 FILE
// [TYPE].
func answers(t *testing.T, ts *testscript.TestScript, args []string) {
	t.Helper()
	status, err := strconv.Atoi(args[0])
	ts.Check(err)
	body, kind := ts.ReadFile(args[1]), "application/json"
	if len(args) > 2 {
		kind = args[2]
	}
	use(ts, newUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	})))
}

func use(ts *testscript.TestScript, u *upstream) {
	for _, kv := range u.env(ts.Getenv("RKAT_SESSION_DIR")) {
		name, value, _ := strings.Cut(kv, "=")
		ts.Setenv(name, value)
	}
}

// lineCount counts the lines of a file: lines 1 stderr.
func lineCount(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[1])
	if n := strings.Count(text, "\n"); strconv.Itoa(n) != args[0] {
		ts.Fatalf("%s has %d lines, not %s:\n%s", args[1], n, args[0], text)
	}
}

// absent fails if a session file holds a text: absent half.
func absent(ts *testscript.TestScript, _ bool, args []string) {
	files, err := filepath.Glob(filepath.Join(ts.Getenv("RKAT_SESSION_DIR"), "*.jsonl"))
	ts.Check(err)
	for _, f := range files {
		if strings.Contains(ts.ReadFile(f), args[0]) {
			ts.Fatalf("%s holds %q", f, args[0])
		}
	}
}

// ndjson requires one JSON object a line and nothing else: ndjson events.
func ndjson(ts *testscript.TestScript, _ bool, args []string) {
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &object); err != nil || !strings.HasSuffix(line, "}\n") {
			ts.Fatalf("%s: %q is not a line of JSON: %v", args[0], line, err)
		}
	}
}

// validate holds each line of a file against a schema: validate rkat.event.v1
// events. What the schema does not name must not be there either.
func validate(ts *testscript.TestScript, _ bool, args []string) {
	name, n := schemas.Name(args[0]), 0
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		n++
		if err := schemas.Validate(name, []byte(line)); err != nil {
			ts.Fatalf("line %d: %v\n%s", n, err, line)
		}
		extra, err := unnamed(name, line)
		ts.Check(err)
		if extra != nil {
			ts.Fatalf("line %d: %v are not in %s", n, extra, name)
		}
	}
	if n == 0 {
		ts.Fatalf("%s is empty", args[1])
	}
}

// unnamed lists the members of an object that a schema does not name.
func unnamed(name schemas.Name, line string) (extra []string, err error) {
	text, err := schemas.Source(name)
	if err != nil {
		return nil, err
	}
	var schema struct{ Properties map[string]json.RawMessage }
	var object map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(text, &schema), json.Unmarshal([]byte(line), &object)); err != nil {
		return nil, err
	}
	for member := range object {
		if schema.Properties[member] == nil {
			extra = append(extra, member)
		}
	}
	return extra, nil
}

// newest puts the id of the session that was updated last into $ID.
func newest(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(ts.Exec("rkat", "sessions", "list", "--json", "--limit", "1"))
	var list struct{ Sessions []listed }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &list))
	ts.Setenv("ID", string(list.Sessions[0].ID))
}

// appears waits for a file that another process makes.
func appears(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	tick, deadline := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			ts.Fatalf("%s does not appear", path)
		}
	}
}
