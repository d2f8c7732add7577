package recorder

import (
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/internal/websocket"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/cassette"
)

// CredentialVariable holds the proxy's credential. There is no flag for it, because every user of
// a machine can read command lines.
const CredentialVariable = "RECORDER_CREDENTIAL" //nolint:gosec // a name, not a value

// callerFlags are the flags about who may use the proxy, and under which names.
type callerFlags struct {
	credentialFile string
	ports          []string
	credential     string // set by ingressConfig
}

func (c *callerFlags) addTo(set *pflag.FlagSet) {
	set.StringVar(&c.credentialFile, "credential-file", "",
		"`file` with the credential that every client must show (or set "+CredentialVariable+
			"); required to listen beyond loopback")
	set.StringSliceVar(&c.ports, "session-listen", nil,
		"`NAME=ADDRESS` to listen on for a session's clients; may be repeated")
}

// sessionAddresses maps the names of --session-listen to their addresses.
func (c *callerFlags) sessionAddresses() (map[string]string, error) {
	listen := map[string]string{}
	for _, pair := range c.ports {
		name, address, ok := strings.Cut(pair, "=")
		if _, twice := listen[name]; !ok || twice {
			return nil,
				cli.Usage("--session-listen %s: use NAME=ADDRESS, each name once, for example a=127.0.0.1:8081", pair)
		}
		listen[name] = address
	}
	return listen, nil
}

// secretValues returns the credential, if any, as a value that must not be recorded: a program has
// it in its environment and may send it anywhere.
func (c *callerFlags) secretValues() []string {
	if c.credential == "" {
		return nil
	}
	return []string{c.credential}
}

// readCredential reads what clients must show, "" for nothing. Errors do not quote it.
func (a *app) readCredential(c *callerFlags) (string, error) {
	value, from := a.Getenv(CredentialVariable), CredentialVariable
	if c.credentialFile != "" {
		from = "--credential-file " + c.credentialFile
		data, err := fileutil.ReadPrivate(c.credentialFile)
		if exposed := (*fileutil.ExposedError)(nil); errors.As(err, &exposed) {
			return "", cli.Usage("%s: %w", from, exposed)
		}
		if err != nil {
			return "", cli.Unreadable(from, err)
		}
		value = strings.TrimSpace(string(data))
	}
	if value == "" && c.credentialFile == "" {
		return "", nil
	}
	if err := proxy.CheckCredential(value); err != nil {
		return "", cli.Usage("%s: %w", from, err)
	}
	return value, nil
}

// maxTurnedAway is how many different lines about clients that were turned away are printed.
const maxTurnedAway = 1000

// logTurnedAway returns the Log of the proxy. It counts all lines and prints each once, because
// clients try again, up to maxTurnedAway.
func (a *app) logTurnedAway() func(line string) {
	var mu sync.Mutex
	said := map[string]bool{}
	return func(line string) {
		a.turnedAway.Add(1)
		mu.Lock()
		defer mu.Unlock()
		if said[line] || len(said) > maxTurnedAway {
			return
		}
		if len(said) == maxTurnedAway {
			a.Say("more was turned away; only the first %d different reasons are printed", maxTurnedAway)
		} else {
			a.Say("%s", line)
		}
		said[line] = true
	}
}

// ingressConfig returns the part of the proxy's configuration that says how clients reach it.
func (a *app) ingressConfig(f *modeFlags) (cfg proxy.Config, err error) {
	cfg = proxy.Config{Listen: f.listen, Listener: f.listener, Ingress: f.ingress, AllowHosts: f.allow,
		AllowFlag: allowFlag, Log: a.logTurnedAway()}
	if f.isRun {
		cfg.Identify = ProcessOf
	}
	if cfg.Sessions, err = f.callers.sessionAddresses(); err != nil {
		return cfg, err
	}
	cfg.Credential, err = a.readCredential(&f.callers)
	f.callers.credential = cfg.Credential
	return cfg, err
}

// clients numbers the processes that record into one cassette, in the order of their
// first requests. It is safe for concurrent use.
type clients struct {
	// isRun is set when all requests come from one program, which recorder run started.
	isRun bool

	mu      sync.Mutex
	ordinal map[string]int
	last    int // the highest ordinal so far
	sockets websocket.Ordinals
}

// newClients continues the numbers of the processes that recorded into old, which may be nil: a
// program that is run again is another process.
func newClients(isRun bool, old *cassette.Cassette) (*clients, error) {
	c := &clients{isRun: isRun, ordinal: map[string]int{}}
	if old == nil {
		return c, nil
	}
	socket := 0
	for in, err := range old.All() {
		if err != nil {
			return nil, err
		}
		c.last, socket = max(c.last, in.Process), max(socket, in.WebSocket)
	}
	c.sockets.StartAfter(socket)
	return c, nil
}

// noteClient sets the fields of in about the client that sent r.
func (c *clients) noteClient(r *http.Request, in *cassette.Interaction) {
	if proxy.CameByBaseURL(r.Context()) {
		in.Ingress = cassette.IngressBaseURL
	}
	in.Process = c.processNumber(proxy.Session(r.Context()), proxy.Client(r.Context()))
	in.WebSocket = c.sockets.Of(r.Context())
}

// processNumber returns the ordinal of a client, 0 when nothing distinguishes it from others. In a
// run without names of processes, all requests count as those of one process.
func (c *clients) processNumber(session, process string) int {
	if session == "" && process == "" && !c.isRun {
		return 0
	}
	name := session + " " + process
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ordinal[name] == 0 {
		c.last++
		c.ordinal[name] = c.last
	}
	return c.ordinal[name]
}
