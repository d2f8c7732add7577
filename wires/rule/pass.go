package rule

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Hosts says at which hosts the referee holds requests to a rule. The simulator stands
// for the provider itself, so it enforces every rule.
type Hosts uint8

const (
	// OwnHosts is a policy of the provider: it holds at the provider's hosts, its clouds
	// included.
	OwnHosts Hosts = iota
	// PublicAPI holds at the provider's public API only; its clouds may differ.
	PublicAPI
	// AnyHost holds wherever the format of the provider is spoken.
	AnyHost
)

// Breach is one place at which a request breaks a rule.
type Breach struct {
	// Rule is the id of the rule; [Pass.Report] takes it from the rule that runs.
	Rule string
	// IsShared is set where the rule holds at any host; the pass sets it.
	IsShared bool
	// Path leads to the place in the body, like messages[3].content[0].signature, or names
	// a header. It may end in members that are absent.
	Path string
	// At is the place in a reply, or in a request where Path alone does not lead there. Its Path is the same.
	At wire.Place
	// Form and Args are the finding in our words, as for fmt.Sprintf. Findings of one
	// rule with one Form have one cause. Without a Form the breach is no finding.
	Form string
	Args []any
	// Cause is what findings of one cause have in common, where that is not the Form.
	Cause string
	// Consequence is what the breach leads to where that depends on the place, as
	// specs.Consequence names it; "" leaves it to the requirement.
	Consequence string
	// QuotesProvider is set where Form itself quotes what the provider says.
	QuotesProvider bool
	// Refusal is the provider's answer, nil where the provider lets the breach pass.
	Refusal *Refusal
}

// Refuse adds the provider's answer to the breach and returns the breach.
func (b *Breach) Refuse(r *Refusal) *Breach {
	b.Refusal = r
	return b
}

// Pass is one run of one rule over one request. The rule counts the places that it looks
// at and reports those at which it is broken; what becomes of a report is not its matter:
// the simulator answers with the first refusal, the referee lists all. A Pass is for one
// goroutine.
type Pass struct {
	Env
	// Observed counts the places where the rule could have been broken.
	Observed int
	// Breaches are the reports in their order.
	Breaches []*Breach
	rule     string
	isShared bool
}

// Observe counts one place where the rule could have been broken.
func (p *Pass) Observe() { p.Observed++ }

// Report says in our words that the request breaks the rule at the place to which path
// leads. The result may be changed until the rule returns.
func (p *Pass) Report(path, form string, args ...any) *Breach {
	b := &Breach{Rule: p.rule, IsShared: p.isShared, Path: path, Form: form, Args: args}
	p.Breaches = append(p.Breaches, b)
	return b
}

// ReportAt is Report for a place that is known: in a reply, or in a request where a path does not lead there.
func (p *Pass) ReportAt(at wire.Place, form string, args ...any) *Breach {
	b := p.Report(at.Path, form, args...)
	b.At = at
	return b
}

// Refuse answers in the provider's name without a report: the referee knows too little to
// judge the place.
func (p *Pass) Refuse(r *Refusal) { p.Breaches = append(p.Breaches, &Breach{Rule: p.rule, Refusal: r}) }

// Shorten cuts a text of others to what a finding shows of it.
func Shorten(s string) string {
	if len(s) <= 40 {
		return s
	}
	return strings.ToValidUTF8(s[:40], "") + "…"
}

// Seen is one request as the referee saw it.
type Seen struct {
	URL    *url.URL
	Header http.Header
	// Betas are those that the request asks for, nil where they are not known.
	Betas []string
	// Found is what [Book.Inspect] found.
	Found *members.Found
	// IsModelInPath is set where the URL names the model, IsOwnModel unless the model is one of another
	// maker, IsMessage for a message of a WebSocket.
	IsModelInPath, IsOwnModel, IsMessage bool
	// WasIssued reports whether an earlier reply of the provider holds something of a type or kind, IsShown
	// whether the recording shows a header in a request of the same client.
	WasIssued, IsShown func(name string) bool
	// Body is what was recorded of the body, Root what could be read of it, Request what its wire reads there.
	Body    []byte
	Root    *tree.Node
	Request *wire.Request
	Wire    *wires.Wire
	// Model is the model that was asked, else the one that answered; Takes is what is
	// known of it.
	Model string
	Takes specs.Capability
	// Paused is set where the request ends with a reply that the provider paused.
	Paused bool
	// Plain holds the ordinals of the messages whose recorded reply held no result of a
	// tool that the provider ran itself.
	Plain map[int]bool
	// IsKept is set where the provider puts a history before the request.
	IsKept bool
	// Kept holds the ids of the calls that the provider puts before the request, nil where
	// more than the recorded ones may stand there.
	Kept map[string]bool
}

// Judge runs the rules that judge aspects over a request and returns their passes by
// aspect. A rule is left out where holds says that its hosts are others.
func Judge[R any](rules []Rule[R], request R, holds func(Hosts) bool) map[string][]*Pass {
	passes := map[string][]*Pass{}
	for i := range rules {
		if r := &rules[i]; r.Aspect != "" && holds(r.Hosts) {
			if p := r.pass(request, Env{}, false); p.Observed > 0 || p.Breaches != nil {
				passes[r.Aspect] = append(passes[r.Aspect], p)
			}
		}
	}
	return passes
}

// Aspects lists the aspects that rules judge, each once.
func Aspects[R any](rules []Rule[R]) (aspects []string) {
	for _, r := range rules {
		if r.Aspect != "" && !slices.Contains(aspects, r.Aspect) {
			aspects = append(aspects, r.Aspect)
		}
	}
	return aspects
}
