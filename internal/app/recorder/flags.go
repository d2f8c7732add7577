package recorder

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
	"github.com/meerkat-go/conformance/proxy/fault"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
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
	maxAge      Age
	match       match
	envFile     string
	starter     Starter
	faults      faultFlags
	callers     callerFlags
	exempt      []string
	own         Own
	onSecret    OnSecret
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
	set.StringVar(&f.cassette, "cassette", "",
		"the cassette `file`; with {session} in its name each session has its own")
	if f.mode == modePass {
		hideFlag(set, "cassette") // accepted, so that only the mode has to be changed
	}
	set.StringVar(&f.listen, "listen", "127.0.0.1:0",
		"`address` to listen on; port 0 takes a free one, beyond loopback a credential is required")
	set.StringSliceVar(&f.ingress, "ingress", []string{proxy.MITM},
		"the `ways` in for clients: mitm (HTTPS_PROXY), base-url, or both")
	f.callers.addTo(set)
	if in(modeRecord, modeRefresh, modePass) {
		set.Var(&f.webSocket, "websocket",
			"what becomes of WebSockets of OpenAI's Responses API: refuse, after which clients go on over HTTP, or record; a replay does as was recorded")
	}
	set.StringSliceVar(&f.allow, "allow-host", nil, "a `host` to intercept beside the providers'; may be repeated")
	if in(modeRecord, modeRefresh) {
		AddExempt(set, &f.exempt)
		f.onSecret.AddTo(set)
	}
	if in(modeRecord, modeRefresh, modeReplay) {
		f.own.AddTo(set)
	}
	if in(modeRecord, modeRefresh, modePass) {
		set.StringSliceVar(&f.upstream, "upstream", nil,
			"`provider=URL` that answers in a provider's place; may be repeated")
		set.StringVar(&f.upstreamCA, "upstream-ca", "", "PEM `file` with the authority of a local upstream")
		set.StringVar(&f.via, "upstream-proxy", "",
			"`URL` of a proxy that leads to the providers, except to the hosts of NO_PROXY; its login is "+
				ViaLoginVariable+"=USER:PASSWORD")
	}
	if in(modeRecord, modeRefresh) {
		f.addFidelity(set)
	}
	if in(modeRecord, modeRefresh, modeReplay) {
		set.Var(&f.maxBody, "max-body",
			"keep no body, and in a replay read no request, longer than so many `MiB` (default 256)")
		set.StringArrayVar(&f.scrub, "scrub", nil, "`rule` for what may differ in a request: "+
			strings.Join(replay.ScrubNames(), ", ")+", $JSON.PATH, /PATTERN/ or both; may be repeated")
	}
	if in(modeRecord) {
		set.BoolVar(&f.force, "force", false, "record: replace a cassette that exists")
	}
	if in(modeRefresh) {
		set.BoolVar(&f.noSwap, "no-swap", false,
			"refresh: leave the fresh recording beside the old one, as NAME~fresh.yaml")
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
		set.BoolVar(&f.learn, "learn", false,
			"record: run the program twice and propose rules for --scrub from what differs")
	}
}

// hideFlag hides a flag that was declared in the help.
func hideFlag(set *pflag.FlagSet, name string) {
	if err := set.MarkHidden(name); err != nil {
		panic(err)
	}
}

func (f *modeFlags) addReplaying(set *pflag.FlagSet) {
	set.Float64Var(&f.speed, "speed",
		0, "replay, record-missing: 1 plays at the recorded pace, `N` N times faster, 0 without waiting")
	set.StringVar(&f.receipt, "receipt", "", "replay: `file` for the receipt, as JSON")
	set.BoolVar(&f.allowUnused, "allow-unused", false, "replay: pass though interactions were never asked for")
	set.BoolVar(&f.strict, "strict", false,
		"replay: fail when an answer needed a looser level than exact or a volatility rule")
	set.Var(&f.match, "match",
		"replay, record-missing: the loosest `level` at which a request is answered: exact, anchored, shape, nth")
	set.Var(&f.maxAge, "max-age", "replay: fail when the cassette is older, for example 30d")
}

// checkChoice refuses a value that a flag does not take.
func checkChoice(flag, value string, known []string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return cli.Usage("--%s %s: unknown; use %s%s", flag, value, strings.Join(known, ", "), spelling.Hint(value, known))
}

func (f *modeFlags) checkValues() error {
	switch {
	case !slices.Contains(modes, f.mode):
		return checkChoice("mode", f.mode, modes)
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
	theirs := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
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

// AddExempt declares the flag for texts that the gate takes for keys by mistake.
func AddExempt(set *pflag.FlagSet, to *[]string) {
	set.StringSliceVar(to, "exempt", nil,
		"`digest` of a text that looks like a key and is none, as the refusal names it; may be repeated")
}

// CheckExempt returns an error unless all are digests. It does not quote them: one may be the key
// itself.
func CheckExempt(digests []string) error {
	for _, d := range digests {
		if !gate.IsDigest(d) {
			return cli.Usage("--exempt: not a digest; give the 16 hexadecimal digits that the refusal names, never the key")
		}
	}
	return nil
}

// Own are the user's rules for redaction, as flags and settings.
type Own struct{ Redact, Keep []string }

// AddTo declares the flags.
func (o *Own) AddTo(set *pflag.FlagSet) {
	set.StringArrayVar(&o.Redact, "redact", nil,
		"a `rule` for what else is secret: NAME, PARENT.NAME or /REGULAR EXPRESSION/; may be repeated")
	set.StringArrayVar(&o.Keep, "keep", nil, "a `rule` for what is not secret, like --redact; may be repeated")
}

// SayUnused names the rules that matched nothing: they may be misspelt.
func (a *app) SayUnused(own *redact.Own) {
	for _, rule := range own.Unused() {
		a.Say("redaction rule %s: matched nothing; check its spelling, or remove it", rule)
	}
}

// OnSecret is what becomes of an interaction in which the gate finds what looks like a
// key. It is a pflag.Value.
type OnSecret struct{ IsMasked bool }

// String is the choice as Set takes it.
func (o *OnSecret) String() string {
	if o.IsMasked {
		return "mask"
	}
	return "refuse"
}

// Type names the value in a command's help.
func (*OnSecret) Type() string { return "choice" }

// Set reads mask or refuse.
func (o *OnSecret) Set(text string) error {
	if text != "mask" && text != "refuse" {
		return errors.New("use mask or refuse")
	}
	o.IsMasked = text == "mask"
	return nil
}

// AddTo declares the flag.
func (o *OnSecret) AddTo(set *pflag.FlagSet) {
	set.Var(o, "on-secret",
		"`choice` for what looks like a key where none belongs: refuse to save the interaction, or mask the key and save it")
}

// addFidelity declares the flags that say what of a reply is kept.
func (f *modeFlags) addFidelity(set *pflag.FlagSet) {
	set.Var(&f.onAbort, "on-abort",
		"record: what happens to the reply when the client leaves: cancel, or `drain[:MiB[:seconds]]`, which reads on")
	set.BoolVar(&f.allowIncomplete, "allow-incomplete", false,
		"record: replies that are cut or lost are intended; the cassette declares it")
}

// abort is record.Drain as a flag. It is a pflag.Value.
type abort record.Drain

// defaultDrain is drain without numbers. Every reply of a model fits into it, and a run does not
// end much later.
var defaultDrain = abort{Bytes: 8 << 20, Time: 10 * time.Second}

func (d *abort) String() string {
	if *d == (abort{}) {
		return ""
	}
	return fmt.Sprintf("drain:%d:%g", d.Bytes>>20, d.Time.Seconds())
}

// Type names the value in a command's help.
func (*abort) Type() string { return "policy" }

// Set reads cancel, drain, drain:16 or drain:16:30.
func (d *abort) Set(text string) error {
	word, numbers, counted := strings.Cut(text, ":")
	size, span, timed := strings.Cut(numbers, ":")
	out := defaultDrain
	ok := word == "drain"
	if counted {
		n, err := parseMebibytes(size)
		ok, out.Bytes = ok && err == nil, n
	}
	if timed {
		s, err := strconv.ParseUint(span, 10, 16)
		ok, out.Time = ok && err == nil && s > 0, time.Duration(s)*time.Second
	}
	switch {
	case text == "cancel":
		*d = abort{}
	case ok:
		*d = out
	default:
		return errors.New("use cancel, drain, drain:MiB or drain:MiB:seconds, in whole numbers")
	}
	return nil
}

// size is a number of MiB as a flag. It is a pflag.Value.
type size int64

func (s *size) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*s)>>20, 10)
}

// Type names the value in a command's help.
func (*size) Type() string { return "MiB" }

// Set reads a whole number of MiB.
func (s *size) Set(text string) error {
	n, err := parseMebibytes(text)
	if err == nil {
		*s = size(n)
	}
	return err
}

func parseMebibytes(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 0 {
		return 0, errors.New("use a whole number of MiB, at least 1")
	}
	return int64(n) << 20, nil
}

// faultFlags are the flags that make a replay differ from its recording.
type faultFlags struct {
	rechunk rechunk
	faults  string
	seed    seed
}

func (d *faultFlags) addTo(set *pflag.FlagSet) {
	set.Var(&d.rechunk, "rechunk",
		"replay: cut the same bytes otherwise, by `mode[:seed]`: 1-byte, mid-rune, mid-crlf, mid-field, coalesced, 64k, random")
	set.StringVar(&d.faults, "faults", "", "replay: `file` with a plan of faults")
	set.Var(&d.seed, "seed",
		"replay: the `number` that decides what --rechunk and --faults leave to chance (default the plan's, else 1)")
}

// hideFlags hides the flags in the help of commands that refuse them.
func (d *faultFlags) hideFlags(set *pflag.FlagSet) {
	for _, name := range []string{"rechunk", "faults", "seed"} {
		hideFlag(set, name)
	}
}

// checkSeeds refuses two seeds.
func (d *faultFlags) checkSeeds() error {
	if d.seed.set && d.rechunk.seed.set && d.seed.n != d.rechunk.seed.n {
		return cli.Usage("--rechunk %s: --seed says %s; give one seed", &d.rechunk, &d.seed)
	}
	return nil
}

// faultSettings are the values of the flags.
type faultSettings struct {
	rechunk fault.Mode
	faults  *fault.Plan
	seed    uint64
}

// readFaults reads the plan, chooses the seed and prints both.
func (a *app) readFaults(d *faultFlags) (out faultSettings, err error) {
	out.rechunk, out.seed = d.rechunk.mode, 1
	if d.faults != "" {
		data, err := os.ReadFile(d.faults)
		if err != nil {
			return out, cli.Unreadable("--faults "+d.faults, err)
		}
		plan, err := fault.Parse(d.faults, data)
		if err != nil {
			return out, cli.Usage("%w", err)
		}
		if out.faults = &plan; plan.Seed != nil {
			out.seed = *plan.Seed
		}
	}
	for _, s := range []seed{d.rechunk.seed, d.seed} {
		if s.set {
			out.seed = s.n
		}
	}
	if out.faults != nil {
		a.Note("%s: %s planned, seed %d", d.faults, cli.Count(len(out.faults.Faults), "fault", "faults"), out.seed)
	}
	if out.rechunk != "" {
		a.Note("--rechunk %s, seed %d", out.rechunk, out.seed)
	}
	return out, nil
}

// rechunk is a mode, and the seed that may stand behind it, as a flag.
type rechunk struct {
	mode fault.Mode
	seed seed
}

// String is the mode as Set takes it.
func (r *rechunk) String() string {
	if r.seed.set {
		return string(r.mode) + ":" + r.seed.String()
	}
	return string(r.mode)
}

// Type names the value in a command's help.
func (*rechunk) Type() string { return "mode" }

// Set reads MODE or MODE:SEED.
func (r *rechunk) Set(text string) error {
	mode, n, err := fault.ParseMode(text)
	if *r = (rechunk{mode: mode}); n != nil {
		r.seed = seed{*n, true}
	}
	return err
}

// seed is a number of 64 bits that may be absent, as a flag.
type seed struct {
	n   uint64
	set bool
}

// String is the seed, "" without one.
func (s *seed) String() string {
	if !s.set {
		return ""
	}
	return strconv.FormatUint(s.n, 10)
}

// Type names the value in a command's help.
func (*seed) Type() string { return "number" }

// Set reads a whole number.
func (s *seed) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return errors.New("use a whole number from 0 to 18446744073709551615")
	}
	*s = seed{n, true}
	return nil
}

// match is a level of matching as a flag. It is a pflag.Value.
type match replay.Level

func (m *match) String() string { return replay.Level(*m).String() }
func (*match) Type() string     { return "level" }

func (m *match) Set(name string) error {
	level, err := replay.ParseLevel(name)
	*m = match(level)
	return err
}
