package serve

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/llm"
)

// sessionMark stands for the session's name in the name of a file.
const sessionMark = "{session}"

func perSession(path string) bool { return strings.Contains(path, sessionMark) }

// lanes keep the sessions of one proxy apart: each has a cassette of its own,
// opened at its first request (DESIGN §4). It is a work itself.
type lanes struct {
	kit *kit

	mu    sync.Mutex
	named map[string]*lane
}

// lane is one session's. What came of opening its cassette, a work or an error,
// holds for all of its requests.
type lane struct {
	path    string
	open    sync.Once
	work    work
	err     error
	mu      sync.Mutex
	refused int
}

func (l *lanes) of(session string) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.named[session] == nil {
		l.named[session] = &lane{path: strings.ReplaceAll(l.kit.flags.cassette, sessionMark, session)}
	}
	return l.named[session]
}

// ServeHTTP hands a request to the work of its session.
func (l *lanes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := proxy.Session(r.Context())
	lane := l.of(name)
	lane.open.Do(func() { lane.work, lane.err = l.begin(name, lane.path) })
	if lane.err != nil {
		lane.refuse(w, r)
		return
	}
	lane.work.ServeHTTP(w, r)
}

var errNoSession = cli.Fail(recorderenv.ExitGate, "a request names no session, so it has no cassette; give each client its own proxy URL in HTTPS_PROXY and https_proxy, http://NAME@host:port, or base URL, http://host:port/~NAME/…")

func (l *lanes) begin(name, path string) (work, error) {
	var w work
	var err error = errNoSession
	if name != "" {
		w, err = l.kit.work(path, strings.ReplaceAll(l.kit.flags.receipt, sessionMark, name))
	}
	if err != nil {
		l.kit.Say("%s", cli.OneLine(err))
	}
	return w, err
}

// refuse answers as the provider would refuse: no client repeats it.
func (l *lane) refuse(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.refused++
	l.mu.Unlock()
	contentType, body := llm.ErrorBody(llm.Provider(r.URL.Host, r.URL.Path), http.StatusBadRequest, cli.OneLine(l.err))
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Cassette-Miss", "session")
	w.Header().Set("X-Should-Retry", "false")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(body) //nolint:gosec // JSON for an API client
}

// exitOfNothing is how a run ends in which no session appeared.
var exitOfNothing = map[string]int{modeRecord: recorderenv.ExitIncomplete, modeRefresh: recorderenv.ExitIncomplete, modeMissing: recorderenv.ExitGate, modeReplay: recorderenv.ExitGate}

// finish ends every session and prints a table of them. Without any session
// nothing was asked for.
func (l *lanes) finish(a *app, failed bool) outcome {
	if len(l.named) == 0 {
		a.Say("%s: %s", l.kit.flags.cassette, a.unasked())
		return outcome{exit: exitOfNothing[l.kit.flags.mode]}
	}
	for _, lane := range l.named {
		if w, records := lane.work.(interface{ drain() }); records {
			w.drain() // what it teaches about secrets holds for the cassettes of all
		}
	}
	var total outcome
	rows := map[string]outcome{}
	for _, name := range slices.Sorted(maps.Keys(l.named)) {
		got := l.named[name].finish(a, failed)
		rows[name] = got
		total.exit = worse(total.exit, got.exit)
	}
	sessionTable(a.Stderr, l.kit.flags.cassette, rows)
	if left := l.notAsked(); len(left) > 0 && l.kit.flags.mode == modeReplay {
		a.List("no session asked for", left)
	}
	return total
}

func (l *lane) finish(a *app, failed bool) outcome {
	if l.err == nil {
		return l.work.finish(a, failed)
	}
	exit := a.ExitCode(l.err)
	if errors.Is(l.err, fs.ErrNotExist) {
		exit = recorderenv.ExitGate // a session that was not recorded is a miss like any other
	}
	return outcome{missed: l.refused, exit: exit}
}

// notAsked lists the cassettes that no session of this run has. That is no
// failure, a run may be of a few tests only; but where it is of all of them,
// they are left over.
func (l *lanes) notAsked() (left []string) {
	files, _ := filepath.Glob(strings.ReplaceAll(l.kit.flags.cassette, sessionMark, "*"))
	for _, file := range files {
		asked := func(lane *lane) bool { return filepath.Clean(lane.path) == filepath.Clean(file) }
		if !slices.ContainsFunc(slices.Collect(maps.Values(l.named)), asked) {
			left = append(left, file)
		}
	}
	return left
}

func (l *lanes) abandon() {
	for _, lane := range l.named {
		if lane.work != nil {
			lane.work.abandon()
		}
	}
}

func sessionTable(w io.Writer, pattern string, rows map[string]outcome) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SESSION\tCASSETTE\tSERVED\tRECORDED\tMISSED\tUNUSED\tEXIT")
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		r, shown, path := rows[name], name, filepath.ToSlash(strings.ReplaceAll(pattern, sessionMark, name))
		if name == "" {
			shown, path = "(none)", "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\n", shown, path, r.served, r.recorded, r.missed, r.unused, r.exit)
	}
	_ = t.Flush() // what people read
}
