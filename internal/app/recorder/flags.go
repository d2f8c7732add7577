package recorder

import (
	"crypto/x509"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
)

// flags are what record, replay and run have in common.
type flags struct {
	mode       string
	cassette   string
	listen     string
	doors      []string
	upstream   []string
	upstreamCA string
	allow      []string
	force      bool
	speed      float64
	receipt    string
}

// The modes of run.
const (
	modeRecord = "record"
	modeReplay = "replay"
)

func (f *flags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.cassette, "cassette", "", "the cassette `file` to record to or replay from")
	set.StringVar(&f.listen, "listen", "127.0.0.1:0", "loopback `address` to listen on; port 0 takes a free one")
	set.StringSliceVar(&f.doors, "ingress", []string{proxy.MITM}, "how clients come in: mitm (HTTPS_PROXY), base-url, or both")
	set.StringSliceVar(&f.allow, "allow-host", nil, "a `host` to intercept beside the providers'; may be repeated")
	if f.mode != modeReplay {
		set.StringSliceVar(&f.upstream, "upstream", nil, "`provider=URL` that answers in a provider's place; may be repeated")
		set.StringVar(&f.upstreamCA, "upstream-ca", "", "PEM `file` with the authority of a local upstream")
		set.BoolVar(&f.force, "force", false, "replace a cassette that exists")
	}
	if f.mode != modeRecord {
		set.Float64Var(&f.speed, "speed", 0, "1 replays at the recorded pace, `N` N times faster, 0 without waiting")
		set.StringVar(&f.receipt, "receipt", "", "`file` for the replay's receipt, as JSON")
	}
	set.Var(absent{"record the case into a cassette of its own"}, "missing", "")
	set.Var(absent{"record from an upstream that misbehaves"}, "faults", "")
	for _, name := range []string{"missing", "faults"} {
		if err := set.MarkHidden(name); err != nil {
			panic(err) // added two lines above
		}
	}
}

func (f *flags) check() error {
	if f.cassette == "" {
		return usage("--cassette: missing; name the file to record to or replay from")
	}
	if f.mode != modeRecord && f.mode != modeReplay {
		return usage("--mode %s: not in this build; use record or replay", f.mode)
	}
	if f.speed < 0 {
		return usage("--speed %g: below 0; 1 is the recorded pace, 0 does not wait", f.speed)
	}
	return nil
}

// upstreams reads provider=URL pairs and refuses the proxy's own address: each
// request would come back for ever.
func (f *flags) upstreams() (map[string]string, error) {
	bases := map[string]string{}
	for _, pair := range f.upstream {
		provider, base, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, usage("--upstream %s: use provider=URL, for example anthropic=http://127.0.0.1:9000", pair)
		}
		if f.isUs(base) {
			return nil, usage("--upstream %s: that is where this proxy listens", pair)
		}
		bases[provider] = base
	}
	return bases, nil
}

func (f *flags) isUs(base string) bool {
	u, err := url.Parse(base)
	_, port, lerr := net.SplitHostPort(f.listen)
	if err != nil || lerr != nil || port == "0" || u.Port() != port {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// roots are whom to trust upstream: the system's authorities and --upstream-ca.
func (a *app) roots(f *flags) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.SystemRoots(a.getenv("SSL_CERT_FILE")))
	if f.upstreamCA == "" {
		return pool, nil
	}
	pem, err := os.ReadFile(f.upstreamCA)
	if err != nil {
		return nil, usage("--upstream-ca %s: cannot be read: %w", f.upstreamCA, reason(err))
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, usage("--upstream-ca %s: holds no PEM certificate", f.upstreamCA)
	}
	return pool, nil
}
