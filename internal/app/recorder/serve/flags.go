package serve

import (
	"crypto/x509"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// modeFlags are the flags that run and the commands for single modes have in common.
type modeFlags struct {
	mode        string
	cassette    string
	listen      string
	ingress     []string
	upstream    []string
	upstreamCA  string
	via         string
	allow       []string
	force       bool
	missing     bool
	noSwap      bool
	speed       float64
	receipt     string
	allowUnused bool
	strict      bool
	maxAge      recorderenv.Age
	match       match
	envFile     string
	starter     recorderenv.Starter
	faults      faultFlags
	callers     callerFlags
	exempt      []string
	own         recorderenv.Own
	onSecret    recorderenv.OnSecret
	scrub       []string
	learn       bool
	isRun       bool // the command is run, which starts one program
	isolate     bool
	sandbox     *isolate.Sandbox // with isolate
	listener    net.Listener     // of the proxy, in sandbox

	onAbort         abort
	allowIncomplete bool
	webSocket       webSocketPolicy
	maxBody         size
}

// allowFlag is how a user adds to the hosts that the proxy intercepts.
const allowFlag = "--allow-host"

// addTo declares the flags that mean something in the command's mode; run, whose
// mode is a flag, has all of them.
func (f *modeFlags) addTo(cmd *cobra.Command) {
	set := cmd.Flags()
	in := func(modes ...string) bool { return f.mode == "" || slices.Contains(modes, f.mode) }
	set.StringVar(&f.cassette, "cassette", "", "the cassette `file`; with {session} in its name each session has its own")
	if f.mode == modePass {
		hideFlag(set, "cassette") // accepted, so that only the mode has to be changed
	}
	set.StringVar(&f.listen, "listen", "127.0.0.1:0", "`address` to listen on; port 0 takes a free one, beyond loopback a credential is required")
	set.StringSliceVar(&f.ingress, "ingress", []string{proxy.MITM}, "the `ways` in for clients: mitm (HTTPS_PROXY), base-url, or both")
	f.callers.addTo(set)
	if in(modeRecord, modeRefresh, modePass) {
		set.Var(&f.webSocket, "websocket", "what becomes of WebSockets of OpenAI's Responses API: refuse, after which clients go on over HTTP, or record; a replay does as was recorded")
	}
	set.StringSliceVar(&f.allow, "allow-host", nil, "a `host` to intercept beside the providers'; may be repeated")
	if in(modeRecord, modeRefresh) {
		recorderenv.AddExempt(set, &f.exempt)
		f.onSecret.AddTo(set)
	}
	if in(modeRecord, modeRefresh, modeReplay) {
		f.own.AddTo(set)
	}
	if in(modeRecord, modeRefresh, modePass) {
		set.StringSliceVar(&f.upstream, "upstream", nil, "`provider=URL` that answers in a provider's place; may be repeated")
		set.StringVar(&f.upstreamCA, "upstream-ca", "", "PEM `file` with the authority of a local upstream")
		set.StringVar(&f.via, "upstream-proxy", "", "`URL` of a proxy that leads to the providers, except to the hosts of NO_PROXY; its login is "+recorderenv.ViaLoginVariable+"=USER:PASSWORD")
	}
	if in(modeRecord, modeRefresh) {
		f.addFidelity(set)
	}
	if in(modeRecord, modeRefresh, modeReplay) {
		set.Var(&f.maxBody, "max-body", "keep no body, and in a replay read no request, longer than so many `MiB` (default 256)")
		set.StringArrayVar(&f.scrub, "scrub", nil, "`rule` for what may differ in a request: "+strings.Join(replay.ScrubNames(), ", ")+", $JSON.PATH, /PATTERN/ or both; may be repeated")
	}
	if in(modeRecord) {
		set.BoolVar(&f.force, "force", false, "record: replace a cassette that exists")
	}
	if in(modeRefresh) {
		set.BoolVar(&f.noSwap, "no-swap", false, "refresh: leave the fresh recording beside the old one, as NAME~fresh.yaml")
	}
	f.faults.addTo(set)
	if in(modeReplay) {
		f.addReplaying(set)
	} else {
		f.faults.hideFlags(set)
	}
	switch f.mode {
	case modeRecord:
		set.BoolVar(&f.missing, "missing", false, "answer what the cassette knows from it, record the rest into it")
		fallthrough
	case modeReplay, modeRefresh, modePass:
		set.StringVar(&f.envFile, "env-file", "", "`file` for the clients' variables, written when the proxy is ready")
		if f.mode != modeRefresh { // its --json is that of --check
			f.starter.AddTo(cmd)
		}
	default:
		set.StringVar(&f.mode, "mode", "", strings.Join(modes, ", ")+" (default replay in CI, else record)")
		set.BoolVar(&f.learn, "learn", false, "record: run the program twice and propose rules for --scrub from what differs")
	}
}

// hideFlag hides a flag that was declared in the help.
func hideFlag(set *pflag.FlagSet, name string) {
	if err := set.MarkHidden(name); err != nil {
		panic(err)
	}
}

func (f *modeFlags) addReplaying(set *pflag.FlagSet) {
	set.Float64Var(&f.speed, "speed", 0, "replay, record-missing: 1 plays at the recorded pace, `N` N times faster, 0 without waiting")
	set.StringVar(&f.receipt, "receipt", "", "replay: `file` for the receipt, as JSON")
	set.BoolVar(&f.allowUnused, "allow-unused", false, "replay: pass though interactions were never asked for")
	set.BoolVar(&f.strict, "strict", false, "replay: fail when an answer needed a looser level than exact or a volatility rule")
	set.Var(&f.match, "match", "replay, record-missing: the loosest `level` at which a request is answered: exact, anchored, shape, nth")
	set.Var(&f.maxAge, "max-age", "replay: fail when the cassette is older, for example 30d")
}

func (f *modeFlags) checkValues() error {
	switch {
	case !slices.Contains(modes, f.mode):
		return cli.Usage("--mode %s: unknown; use %s%s", f.mode, strings.Join(modes, ", "), spelling.Hint(f.mode, modes))
	case f.cassette == "" && f.mode != modePass:
		return cli.Usage("--cassette: missing; name the file to record to or replay from")
	case !replay.Timing(f.speed).Valid():
		return cli.Usage("--speed %g: use 1 for the recorded pace, N for N times faster, down to 0.001, or 0 not to wait", f.speed)
	case f.receipt != "" && perSession(f.cassette) && !perSession(f.receipt):
		return cli.Usage("--receipt %s: each session has its own; put {session} into the name", f.receipt)
	}
	return f.faults.checkSeeds()
}

// upstreamBases reads provider=URL pairs. It refuses the proxy's own address, to which each
// request would come back.
func (f *modeFlags) upstreamBases() (map[string]string, error) {
	bases := map[string]string{}
	for _, pair := range f.upstream {
		provider, base, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, cli.Usage("--upstream %s: use provider=URL, for example anthropic=http://127.0.0.1:9000", pair)
		}
		if isOwnAddress(f.listen, base) {
			return nil, cli.Usage("--upstream %s: that is where this proxy listens", pair)
		}
		bases[provider] = base
	}
	return bases, nil
}

// isOwnAddress reports whether base leads to the address that the proxy listens on.
func isOwnAddress(listen, base string) bool {
	u, err := url.Parse(base)
	host, port, lerr := net.SplitHostPort(listen)
	if err != nil || lerr != nil || port == "0" {
		return false
	}
	theirs := u.Port()
	if theirs == "" {
		theirs = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return theirs == port && sameMachine(host, u.Hostname())
}

// sameMachine reports whether the name or address theirs reaches a listener on the address ours.
func sameMachine(ours, theirs string) bool {
	a, b := net.ParseIP(ours), net.ParseIP(theirs)
	local := func(name string, ip net.IP) bool {
		return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
	}
	switch {
	case ours == "" || a != nil && a.IsUnspecified():
		return local(theirs, b) || b != nil && b.IsUnspecified()
	case a != nil && b != nil:
		return a.Equal(b) || b.IsUnspecified() && a.IsLoopback()
	default: // localhost is 127.0.0.1 and ::1
		return local(ours, a) && local(theirs, b)
	}
}

// upstreamRoots returns the authorities to trust upstream: the system's and --upstream-ca.
func (a *app) upstreamRoots(f *modeFlags) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.SystemRoots(a.Getenv("SSL_CERT_FILE")))
	if f.upstreamCA == "" {
		return pool, nil
	}
	pem, err := os.ReadFile(f.upstreamCA)
	if err != nil {
		return nil, cli.Unreadable("--upstream-ca "+f.upstreamCA, err)
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, cli.Usage("--upstream-ca %s: holds no PEM certificate", f.upstreamCA)
	}
	return pool, nil
}
