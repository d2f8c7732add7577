package conform

import (
	"crypto/x509"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
)

// liveFlags say how the providers themselves may be asked.
type liveFlags struct {
	budget      harness.Budget
	models      []string // provider=name
	allowModels []string
	record      string
	upstream    []string // provider=URL
	upstreamCA  string
}

// The budget of a live run that names none: more than the embedded scenarios need.
const (
	defaultLiveRequests = 200
	defaultLiveTokens   = 1_000_000
)

func (f *liveFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.budget.Requests, "max-requests", defaultLiveRequests, "live: end the run before request `N`+1")
	flags.IntVar(&f.budget.Tokens, "max-tokens", defaultLiveTokens,
		"live: send nothing more once the replies report `N` tokens, input and output")
	flags.Float64Var(&f.budget.Cost, "max-cost", 0,
		"live: send nothing more once the run has cost an `amount`, in the currency of --prices")
	flags.StringSliceVar(&f.models, "live-model", nil,
		"live: `provider=model` to ask for, which is then allowed; may be repeated (default: the scenarios', cheap ones)")
	flags.StringSliceVar(&f.allowModels, "allow-model", nil,
		"live: further `model` or family that the agent may ask for, such as \"claude-haiku >= 4.5\"; may be repeated")
	flags.StringVar(&f.record, "record", "",
		"live: keep a cassette of each case in `folder`, for example cassettes/live")
	flags.StringSliceVar(&f.upstream, "upstream", nil,
		"live: `provider=URL` of a stand-in that answers in a provider's place; may be repeated")
	flags.StringVar(&f.upstreamCA, "upstream-ca", "", "live: PEM `file` with the authority of a stand-in")
}

// check refuses values that mean nothing, and flags that need --source live.
func (f liveFlags) check(run runFlags) error {
	isLive := slices.Contains(run.sources, string(evidence.SourceLive))
	for _, given := range []struct {
		flag  string
		isSet bool
	}{
		{"--max-requests", f.budget.Requests != defaultLiveRequests},
		{"--max-tokens", f.budget.Tokens != defaultLiveTokens},
		{"--max-cost", f.budget.Cost != 0}, {"--live-model", len(f.models) > 0},
		{"--allow-model", len(f.allowModels) > 0}, {"--record", f.record != ""}, {"--upstream", len(f.upstream) > 0},
		{"--upstream-ca", f.upstreamCA != ""},
	} {
		if given.isSet && !isLive {
			return cli.Usage("%s: goes with --source live; add that, or leave it out", given.flag)
		}
	}
	switch {
	case f.budget.Requests < 1 || f.budget.Tokens < 1:
		return cli.Usage("--max-requests and --max-tokens: have to be above 0")
	case !(f.budget.Cost >= 0):
		return cli.Usage("--max-cost: %v is not a cost; use a number above 0", f.budget.Cost)
	case f.budget.Cost > 0 && run.prices.file == "":
		return cli.Usage("--max-cost: needs --prices FILE, because no prices are built in")
	case f.record != "" && run.repeat > 1:
		return cli.Usage("--record: cannot be used with --repeat, because a folder holds one cassette of each case; leave one out")
	}
	return nil
}

// liveOptions is how the providers are asked, nil where they are not.
func (a *app) liveOptions(f runFlags, prices *specs.Prices) (*harness.Live, error) {
	if !slices.Contains(f.sources, string(evidence.SourceLive)) {
		return nil, nil //nolint:nilnil // a run need not be live
	}
	l := &harness.Live{Budget: f.budget, Record: f.record, Prices: prices, Tool: "conform " + cli.Version()}
	var err error
	if l.Keys, err = harness.EnvironmentKeys(a.Getenv); err != nil {
		return nil, cli.Usage("--source live: %w", err)
	}
	if l.Models, err = pairsByProvider("--live-model", f.models, "anthropic=claude-sonnet-4-6"); err != nil {
		return nil, err
	}
	if l.Upstream, err = parseUpstreams(f.upstream); err != nil {
		return nil, err
	}
	if l.Roots, err = a.standInRoots(f.upstreamCA); err != nil {
		return nil, err
	}
	if l.Allowed, err = allowedModels(f.allowModels); err != nil {
		return nil, err
	}
	return l, nil
}

// pairsByProvider reads provider=value pairs.
func pairsByProvider(flag string, pairs []string, example string) (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range pairs {
		provider, value, ok := strings.Cut(pair, "=")
		if !ok || value == "" || wires.Find(provider) == nil {
			return nil, cli.Usage("%s %s: use provider=value with %s, for example %s", flag, pair,
				wires.List(wires.Names()), example)
		}
		values[provider] = value
	}
	return values, nil
}

// parseUpstreams reads where stand-ins are. A key crosses a network only encrypted.
func parseUpstreams(pairs []string) (map[string]string, error) {
	bases, err := pairsByProvider("--upstream", pairs, "anthropic=https://127.0.0.1:9000")
	if err != nil {
		return nil, err
	}
	for provider, base := range bases {
		u, err := url.Parse(base)
		if err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
			return nil, cli.Usage("--upstream %s=%s: your key would cross the network in the clear; use https",
				provider, base)
		}
	}
	if _, err := proxy.NewTransport(bases, nil); err != nil {
		return nil, cli.Usage("--%w", err)
	}
	return bases, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// standInRoots are the system's authorities and that of a stand-in; nil without one.
func (a *app) standInRoots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // the system's
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, cli.Unreadable("--upstream-ca "+file, err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.SystemRoots(a.Getenv("SSL_CERT_FILE")))
	if !pool.AppendCertsFromPEM(pem) {
		return nil, cli.Usage("--upstream-ca %s: holds no PEM certificate", file)
	}
	return pool, nil
}

// allowedModels are the embedded allowlist and more; nil for the former alone.
func allowedModels(more []string) (*specs.ModelPolicy, error) {
	if len(more) == 0 {
		return nil, nil //nolint:nilnil // the embedded one
	}
	policy, err := specs.NewModelPolicy(more)
	if err != nil {
		return nil, cli.Usage("--allow-model: %w", err)
	}
	embedded, err := specs.Models()
	if err != nil {
		return nil, err
	}
	policy.Rules = append(policy.Rules, embedded.Rules...)
	return policy, nil
}

// liveOf is what a report says of a live run, nil of others.
func liveOf(l *harness.Live, found harness.Outcome) *report.Live {
	if l == nil || found.Spent == nil {
		return nil
	}
	asked, err := l.AskedModels()
	if err != nil {
		asked = nil // they were asked for before: cannot fail
	}
	s := found.Spent
	return &report.Live{Requests: s.Requests, Tokens: s.Usage.Total(), Estimated: s.Estimated, Cost: s.Cost,
		Currency: s.Currency, Models: asked, StandIns: l.Upstream}
}

// sayLive says what an interrupted run cost.
func (a *app) sayLive(l *report.Live) {
	if l != nil {
		a.Say("spent: %d requests, %d tokens", l.Requests, l.Tokens)
	}
}

// policyFlags say what turns a report red beside failures.
type policyFlags struct {
	strict  bool
	failOn  string
	require []string
}

func (f *policyFlags) addTo(cmd *cobra.Command) {
	f.addVerdicts(cmd.Flags())
	cmd.Flags().StringSliceVar(&f.require, "require", nil, "requirements and areas that must be seen, e.g. SIG,ORD-001")
}

// addVerdicts adds the flags that servers and gateways have as well.
func (f *policyFlags) addVerdicts(flags *pflag.FlagSet) {
	flags.BoolVar(&f.strict, "strict", false, "make failures of warnings")
	flags.StringVar(&f.failOn, "fail-on", "fail", "what exits 1: fail, or warn for warnings as well")
}

// policy checks the values of the flags. own are the team's rules.
func (f policyFlags) policy(own []report.Rule) (report.Policy, error) {
	p := report.Policy{Strict: f.strict, FailOn: report.Verdict(f.failOn)}
	if err := checkValues("fail-on", f.failOn); err != nil {
		return p, err
	}
	catalogue, err := specs.Requirements()
	if err != nil {
		return p, err
	}
	for _, r := range own {
		catalogue, p.MustSee = append(catalogue, r.Requirement), append(p.MustSee, r.Requirement.ID)
	}
	if p.Require, err = report.ParseRequired(f.require, catalogue); err != nil {
		return p, cli.Usage("--require: %w", err)
	}
	return p, nil
}
