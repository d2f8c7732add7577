package harness

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
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
	s := &liveSource{Live: l, guard: g, account: newAccount(l.Budget, l.Prices), policy: l.Allowed, gate: gate.New(),
		redactor: redact.New(nil)}
	if s.policy == nil {
		if s.policy, err = specs.Models(); err != nil {
			return nil, err
		}
	}
	for _, key := range l.Keys {
		s.gate.Learn(key)
		s.redactor.Learn(key)
	}
	s.transport = keyedTransport{keys: l.Keys, next: next, charge: s.account.chargeReply,
		mask: evidence.NewMask(slices.Collect(maps.Values(l.Keys)))}
	return s, nil
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

// Budget bounds what a live run may cost. A field that is 0 bounds nothing.
type Budget struct {
	// Requests counts every request that is sent to a provider, whatever it asks for.
	Requests int
	// Tokens counts input, cached input and output, as the replies report them.
	Tokens int
	// Cost is in the currency of the prices, which it needs.
	Cost float64
}

// Spent is what a live run has cost. It is plain data.
type Spent struct {
	Requests int
	Usage    Usage
	// Estimated is how many tokens of Usage no reply has reported.
	Estimated int
	// Cost is 0 without prices.
	Cost     float64
	Currency string
}

// String says it in a few words, for people.
func (s Spent) String() string {
	text := fmt.Sprintf("%d requests, %d tokens", s.Requests, s.Usage.Total())
	if s.Estimated > 0 {
		text += fmt.Sprintf(" (%d of them estimated)", s.Estimated)
	}
	if s.Currency != "" {
		text += fmt.Sprintf(", %.4f %s", s.Cost, s.Currency)
	}
	return text
}

// exhaustedReason says which bound has been reached, "" for none: what the next request must
// not be sent for.
func (b Budget) exhaustedReason(s Spent) string {
	switch {
	case b.Requests > 0 && s.Requests >= b.Requests:
		return fmt.Sprintf("the budget of %d requests is spent (--max-requests)", b.Requests)
	case b.Tokens > 0 && s.Usage.Total() >= b.Tokens:
		return fmt.Sprintf("the budget of %d tokens is spent (--max-tokens)", b.Tokens)
	case b.Cost > 0 && s.Cost >= b.Cost:
		return strings.TrimSpace(fmt.Sprintf("the budget of %v %s is spent (--max-cost)", b.Cost, s.Currency))
	}
	return ""
}

// account adds up what a run costs. It is safe for concurrent use.
type account struct {
	budget Budget
	prices *specs.Prices

	mu    sync.Mutex
	spent Spent
}

func newAccount(b Budget, p *specs.Prices) *account {
	a := &account{budget: b, prices: p}
	if p != nil {
		a.spent.Currency = p.Currency
		if p.Currency == "" {
			a.spent.Currency = "in the unit of the prices"
		}
	}
	return a
}

// admitRequest counts a request that is about to be sent, or says why it must not be.
func (a *account) admitRequest() (reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if reason = a.budget.exhaustedReason(a.spent); reason == "" {
		a.spent.Requests++
	}
	return reason
}

// chargeReply adds what a reply of model cost.
func (a *account) chargeReply(model string, u Usage, isReported bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spent.Usage = a.spent.Usage.plusUsage(u)
	if !isReported {
		a.spent.Estimated += u.Total()
	}
	if a.prices != nil {
		if price, ok := a.prices.PriceOf(model); ok {
			a.spent.Cost += (float64(u.Input)*price.Input + float64(u.CacheRead)*price.CacheRead +
				float64(u.CacheWrite)*price.CacheWrite + float64(u.Output)*price.Output) / 1e6
		}
	}
}

// totalSpent is what was spent so far.
func (a *account) totalSpent() Spent {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spent
}

// meter reads a reply and charges the tokens that it reports, each before the bytes
// that report it are passed on.
type meter struct {
	io.ReadCloser
	provider    string
	contentType string
	announced   int64 // length of the reply, -1 when unknown
	asked       int64 // length of the request
	isPaid      bool  // a reply without a report costs tokens, too
	charge      func(u Usage, isReported bool)

	length  int64
	pending []byte // of the frame that has not ended
	counted counted
	charged Usage
	isDone  bool
}

// maxFrame is the longest piece of a reply that is searched for a report, in bytes.
const maxFrame = 16 << 20

// Read implements io.Reader.
func (m *meter) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.length += int64(n)
	if len(m.pending)+n <= maxFrame {
		m.pending = append(m.pending, p[:n]...)
	}
	isLast := err != nil || m.length == m.announced
	if isLast || bytes.Contains(tailBytes(m.pending, n), []byte("\n\n")) ||
		bytes.Contains(tailBytes(m.pending, n), []byte("\n\r\n")) {
		m.readFrames(isLast)
	}
	if isLast {
		m.finish()
	}
	return n, err
}

// tailBytes is the last n bytes and those before them in which a blank line can have begun.
func tailBytes(b []byte, n int) []byte { return b[max(0, len(b)-n-2):] }

// readFrames charges what the frames report that have ended.
func (m *meter) readFrames(isLast bool) {
	if !isLast && llm.FramingOf(m.contentType, m.pending) != llm.EventStream {
		return // a document reports in its middle and is used as a whole
	}
	end := 0
	for frame := range llm.Frames(m.contentType, m.pending) {
		if frame.Whole || isLast {
			m.counted.addFrame(m.provider, frame.Data)
			end = frame.End
		}
	}
	m.pending = m.pending[end:]
	if u := m.counted.toUsage(); u != m.charged {
		m.charge(u.minusUsage(m.charged), true)
		m.charged = u
	}
}

// finish charges an estimate for a paid reply that reported nothing.
func (m *meter) finish() {
	if m.isDone {
		return
	}
	m.isDone = true
	if m.isPaid && !m.counted.isReported {
		m.charge(estimateUsage(m.asked, m.length), false)
	}
}

// Close implements io.Closer. A reply that was cut costs what it came to.
func (m *meter) Close() error {
	m.readFrames(true)
	m.finish()
	return m.ReadCloser.Close()
}

// Usage is what one or more replies cost, in tokens. Tokens that were read from or
// written to the provider's cache are not part of Input.
type Usage struct {
	Input, CacheRead, CacheWrite, Output int
}

// Total is the number of all tokens.
func (u Usage) Total() int { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

func (u Usage) minusUsage(v Usage) Usage {
	return Usage{u.Input - v.Input, u.CacheRead - v.CacheRead, u.CacheWrite - v.CacheWrite, u.Output - v.Output}
}

func (u Usage) plusUsage(v Usage) Usage {
	return Usage{u.Input + v.Input, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite, u.Output + v.Output}
}

// maxTokens is the highest number that is believed: sums of it do not overflow.
const maxTokens = 1 << 40

// counted is what a reply has counted so far.
type counted struct {
	wire.Usage
	isReported bool
}

// addFrame takes over what a piece of a reply counts. Providers send running totals.
func (c *counted) addFrame(provider string, frame []byte) {
	if doc, err := tree.Parse(frame); err == nil {
		c.isReported = c.Add(provider, doc) || c.isReported
	}
}

// toUsage counts cached tokens apart.
func (c *counted) toUsage() Usage {
	bounded := func(n int) int { return max(0, min(n, maxTokens)) }
	u := Usage{CacheRead: bounded(c.CacheRead), CacheWrite: bounded(c.CacheWrite), Output: bounded(c.Output)}
	u.Input = bounded(c.Input - u.CacheRead - u.CacheWrite)
	return u
}

// estimateUsage stands for a reply that reports nothing, such as one that was cut: a
// token for every four bytes that passed.
func estimateUsage(request, response int64) Usage {
	return Usage{Input: int(request / 4), Output: int(response / 4)}
}
