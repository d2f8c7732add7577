package harness

import (
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
)

// Live says how the providers themselves are asked. The agent never gets a key of it:
// it has a made-up one, which is exchanged for the real one behind the proxy.
type Live struct {
	// Keys are the user's keys, by provider. Cases of other providers are not run.
	Keys map[string]string
	// Models are the models to ask for, by provider, where not the scenario's.
	Models map[string]string
	// Allowed are the models that may be asked for, beside those in Models. Nil: the
	// embedded policy.
	Allowed *specs.ModelPolicy
	// Upstream are the URLs of stand-ins that answer in a provider's place. What they
	// answer is never called live.
	Upstream map[string]string
	// Roots are the authorities that providers are trusted by. Nil: the system's.
	Roots *x509.CertPool
	// Budget ends the run; Prices, possibly nil, are what its cost is counted in.
	Budget Budget
	Prices *specs.Prices
	// Record is the folder for a cassette of each case, "" for none. Tool is the name
	// and version of the program that they say has recorded them.
	Record, Tool string
}

// ErrNoKey says that no provider can be asked.
var ErrNoKey = errors.New("needs a key; set ANTHROPIC_API_KEY, OPENAI_API_KEY, or GEMINI_API_KEY or GOOGLE_API_KEY, for the providers that may be asked")

// EnvironmentKeys reads the keys from an environment. The error is [ErrNoKey] when there
// is none.
func EnvironmentKeys(getenv func(name string) string) (map[string]string, error) {
	keys := wires.Keys(getenv)
	if len(keys) == 0 {
		return nil, ErrNoKey
	}
	return keys, nil
}

// liveSource asks the providers. It is shared by all cases of a runner and safe for
// concurrent use.
type liveSource struct {
	*Live
	guard     *guard
	account   *account
	policy    *specs.ModelPolicy
	transport http.RoundTripper // puts the keys in
	gate      *gate.Gate        // of what is kept; it knows the keys
	redactor  *redact.Redactor
}

// newLiveSource returns nil without l.
func newLiveSource(l *Live, g *guard) (*liveSource, error) {
	if l == nil {
		return nil, nil //nolint:nilnil // a run need not be live
	}
	next, err := proxy.NewTransport(l.Upstream, l.Roots)
	if err != nil {
		return nil, err
	}
	s := &liveSource{Live: l, guard: g, account: newAccount(l.Budget, l.Prices), policy: l.Allowed, gate: gate.New(), redactor: redact.New(nil)}
	if s.policy == nil {
		if s.policy, err = specs.Models(); err != nil {
			return nil, err
		}
	}
	for _, key := range l.Keys {
		s.gate.Learn(key)
		s.redactor.Learn(key)
	}
	s.transport = keyedTransport{keys: l.Keys, next: next, charge: s.account.chargeReply, mask: newMask(slices.Collect(maps.Values(l.Keys)))}
	return s, nil
}

// spentSoFar is what was spent so far, nil where nothing is live.
func (s *liveSource) spentSoFar() *Spent {
	if s == nil {
		return nil
	}
	total := s.account.totalSpent()
	return &total
}

// Cases are the live scenarios with the models that are to be asked for, also those of
// providers without a key.
func (l *Live) Cases() ([]Case, error) {
	if l == nil {
		return nil, fmt.Errorf("source live: %w", ErrNoKey)
	}
	scenarios, err := specs.LiveScenarios()
	cases := casesOf(scenarios)
	for i := range cases {
		if model := l.Models[cases[i].Target.Provider]; model != "" {
			cases[i].Target.Model = model
		}
	}
	return cases, err
}

// lacksKey says why the provider of p cannot be asked, "" when it can.
func (l *Live) lacksKey(p Permutation) string {
	if p.Source != evidence.SourceLive || l.Keys[p.Case.Target.Provider] != "" {
		return ""
	}
	return wires.Find(p.Case.Target.Provider).Environment.KeyNames() + " is not set"
}

// AskedModels are the models that the live cases ask for, by provider with a key.
func (l *Live) AskedModels() (map[string][]string, error) {
	cases, err := l.Cases()
	models := map[string][]string{}
	for _, c := range cases {
		if p := c.Target.Provider; l.Keys[p] != "" && !slices.Contains(models[p], c.Target.Model) {
			models[p] = append(models[p], c.Target.Model)
		}
	}
	return models, err
}

// allowsModel reports whether a model may be asked for, and if not, why.
func (s *liveSource) allowsModel(model string) (ok bool, reason string) {
	for _, chosen := range s.Models {
		if specs.ParseModel(chosen).Bare == specs.ParseModel(model).Bare {
			return true, ""
		}
	}
	return s.policy.Allows(model)
}
