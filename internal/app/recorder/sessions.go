package recorder

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
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/llm"
)

// sessionMark stands for the session's name in the name of a file.
const sessionMark = "{session}"

func perSession(path string) bool { return strings.Contains(path, sessionMark) }

// sessions keeps the sessions of one proxy apart: each has a cassette of its own, which is opened
// at its first request. It is a modeHandler itself.
type sessions struct {
	env *modeEnv

	mu     sync.Mutex
	byName map[string]*clientSession
}

// clientSession is one session. Its cassette is opened once: all of its requests go to handler, or
// are refused with err.
type clientSession struct {
	name    string
	path    string
	open    sync.Once
	handler modeHandler
	err     error

	mu      sync.Mutex
	refused int
}

// maxSessions is how many sessions one proxy keeps apart. The requests of all further ones are
// refused, and counted under furtherSessions, which is the name of no session.
const (
	maxSessions     = 10_000
	furtherSessions = "*"
)

func (l *sessions) sessionCassette(session string) *clientSession {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byName[session] == nil && len(l.byName) >= maxSessions {
		session = furtherSessions
	}
	if l.byName[session] == nil {
		l.byName[session] = &clientSession{name: session,
			path: strings.ReplaceAll(l.env.flags.cassette, sessionMark, session)}
	}
	return l.byName[session]
}

// ServeHTTP passes a request to the handler of its session.
func (l *sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	client := l.openClient(proxy.Session(r.Context()))
	if client.err != nil {
		client.refuseRequest(w, r)
		return
	}
	client.handler.ServeHTTP(w, r)
}

// openClient returns a session after opening its cassette was tried.
func (l *sessions) openClient(name string) *clientSession {
	client := l.sessionCassette(name)
	client.open.Do(func() { client.handler, client.err = l.openSession(client.name, client.path) })
	return client
}

var errNoSession = cli.Fail(ExitGate,
	"a request names no session, so it has no cassette; give each client its own proxy URL in HTTPS_PROXY and https_proxy, http://NAME@host:port, or base URL, http://host:port/~NAME/…")

var errTooManySessions = cli.Fail(ExitGate,
	"a request names one session more than the %d that one proxy keeps apart; give parallel tests fewer names, or more proxies", maxSessions)

func (l *sessions) openSession(name, path string) (modeHandler, error) {
	var h modeHandler
	var err error
	switch name {
	case "":
		err = errNoSession
	case furtherSessions:
		err = errTooManySessions
	default:
		h, err = l.env.openCassette(path, strings.ReplaceAll(l.env.flags.receipt, sessionMark, name))
	}
	if err != nil {
		l.env.Say("%s", cli.OneLine(err))
	}
	return h, err
}

// refuseRequest answers with an error in the provider's shape that no client retries.
func (l *clientSession) refuseRequest(w http.ResponseWriter, r *http.Request) {
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
var exitOfNothing = map[string]int{modeRecord: ExitIncomplete, modeRefresh: ExitIncomplete, modeMissing: ExitGate,
	modeReplay: ExitGate}

// finishRecording ends every session and prints a table of them. Without any session
// nothing was asked for.
func (l *sessions) finishRecording(a *app, failed bool) outcome {
	if len(l.byName) == 0 {
		a.Say("%s: %s", l.env.flags.cassette, a.nothingAskedReason())
		return outcome{exit: exitOfNothing[l.env.flags.mode]}
	}
	for _, client := range l.byName {
		if w, records := client.handler.(interface{ drainRecording() }); records {
			w.drainRecording() // the secrets that it finds are taken out of all cassettes
		}
	}
	var total outcome
	rows := map[string]outcome{}
	for _, name := range slices.Sorted(maps.Keys(l.byName)) {
		got := l.byName[name].finishRecording(a, failed)
		rows[name] = got
		total.exit = worseExit(total.exit, got.exit)
	}
	sessionTable(a.Stderr, l.env.flags.cassette, rows)
	if left := l.notAsked(); len(left) > 0 && l.env.flags.mode == modeReplay {
		a.SayList("no session asked for", left)
	}
	return total
}

func (l *clientSession) finishRecording(a *app, failed bool) outcome {
	if l.err == nil {
		return l.handler.finishRecording(a, failed)
	}
	exit := a.ExitCode(l.err)
	if errors.Is(l.err, fs.ErrNotExist) {
		exit = ExitGate // a session that was not recorded is a miss like any other
	}
	return outcome{missed: l.refused, exit: exit}
}

// notAsked lists the cassettes that no session of this run has used. After a run of all tests,
// they can be deleted.
func (l *sessions) notAsked() (left []string) {
	files, _ := filepath.Glob(strings.ReplaceAll(l.env.flags.cassette, sessionMark, "*"))
	for _, file := range files {
		asked := func(client *clientSession) bool { return filepath.Clean(client.path) == filepath.Clean(file) }
		if !slices.ContainsFunc(slices.Collect(maps.Values(l.byName)), asked) {
			left = append(left, file)
		}
	}
	return left
}

func (l *sessions) discardStart() {
	for _, client := range l.byName {
		if client.handler != nil {
			client.handler.discardStart()
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
