// Package rule holds what the rules of all wires have in common: how a
// rule is stated, looked up, switched off and reported as broken.
//
// The rules themselves are in the packages of the providers: one small function
// each, in the order in which the real API checks them. The first rule that a
// request breaks decides the refusal.
//
// Reply rules judge whether a server or a gateway keeps its duties to clients (specs/duties). To judge
// an exchange, call [JudgeReply]:
//
//	for _, pass := range rule.JudgeReply(&rule.Exchange{Wire: "anthropic", Status: 200, Header: header, Body: body}) {
//		for _, b := range pass.Breaches {
//			fmt.Println(pass.ID, b.At.Event, b.At.Path, b.Message(), b.Consequence, pass.Level, pass.Clients())
//		}
//	}
//
// A duty without a pass was not seen: nothing in the reply could have broken it. A [ReplyRule]
// stands in the folder of its wire, or in reply_transport.go where it holds for every wire.
package rule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/wires/seal"
)

// Level is how much a simulator refuses.
type Level uint8

// The levels, from the most to the least that is refused.
const (
	// Strict enforces every rule, also those that the live API enforces only at
	// times or that are known from few reports.
	Strict Level = iota
	// Live enforces what the live API is known to enforce.
	Live
	// Lenient enforces only what a reply cannot be made without: that the
	// request can be read and names a model.
	Lenient
)

// Confidence is how sure the rule and its wording are.
type Confidence string

// The confidences, as specs/wire-rules.md gives them.
const (
	High   Confidence = "high"
	Medium Confidence = "medium"
	Low    Confidence = "low"
)

// Info states a rule for people and tables.
type Info struct {
	// ID is the rule's id in specs/wire-rules.md, "A-15"; variants of one rule
	// share it.
	ID string `yaml:"id" data:"required"`
	// Demand is one sentence: what a request must be.
	Demand string `yaml:"demand" data:"required"`
	// Source says where the rule is known from: recorded, documented, reported,
	// inferred.
	Source string `yaml:"source" data:"required"`
	// Confidence is that of the demand, not of its exact words.
	Confidence Confidence `yaml:"confidence" data:"required,one=high medium low"`
	// Least is the loosest level at which the rule is enforced.
	Least Level
}

// Rule is one demand on a request of type R.
type Rule[R any] struct {
	Info
	// Broken returns the provider's refusal, or nil when the demand is met. It
	// is pure and safe for concurrent use. A rule has Broken, Run or both; then Broken
	// refuses and Run reports.
	Broken func(request R, env Env) *Refusal
	// Aspect is the aspect of a requirement that the referee judges by this rule, like
	// "PAR-001/below-max"; "" where only the simulator knows enough to judge.
	Aspect string
	// Hosts says at which hosts the referee holds requests to the rule.
	Hosts Hosts
	// Run reports the places at which the request breaks the rule. It is pure and safe
	// for concurrent use with a Pass of its own.
	Run func(request R, p *Pass)
}

// FromLive is a rule that is enforced from Live on.
func FromLive[R any](id, demand, source string, sure Confidence, broken func(R, Env) *Refusal) Rule[R] {
	return Rule[R]{Info: Info{ID: id, Demand: demand, Source: source, Confidence: sure, Least: Live}, Broken: broken}
}

// Sure is a rule that the live API is sure to enforce. [Judged] adds how a breach is found.
func Sure[R any](id, demand, source string) Rule[R] {
	return FromLive[R](id, demand, source, High, nil)
}

// FromStrict is r as a rule that only strictness asks for: the live API enforces it at times, or few reports
// speak of it.
func FromStrict[R any](r Rule[R]) Rule[R] {
	r.Least = Strict
	return r
}

// Basic is r as a rule without which there is nothing to answer.
func Basic[R any](r Rule[R]) Rule[R] {
	r.Least = Lenient
	return r
}

// Judged is r as a rule by which the referee judges an aspect of a requirement.
func Judged[R any](aspect string, r Rule[R], run func(R, *Pass)) Rule[R] {
	r.Aspect, r.Run = aspect, run
	return r
}

// Everywhere is r as a rule that the referee holds requests to any host to.
func Everywhere[R any](r Rule[R]) Rule[R] {
	r.Hosts = AnyHost
	return r
}

// AtPublicAPI is r as a rule that the referee holds requests to the public API to.
func AtPublicAPI[R any](r Rule[R]) Rule[R] {
	r.Hosts = PublicAPI
	return r
}

// pass runs the rule over a request. What refuses returns no reports of a rule that has
// Broken.
func (r *Rule[R]) pass(request R, env Env, refuses bool) *Pass {
	p := &Pass{Env: env, rule: r.ID, isShared: r.Hosts == AnyHost}
	if r.Run != nil && !(refuses && r.Broken != nil) {
		r.Run(request, p)
	} else if refusal := r.Broken(request, env); refusal != nil {
		p.Refuse(refusal)
	}
	return p
}

// Env is what a rule may know beside the request.
type Env struct {
	// Key is what issued tokens are verified with.
	Key seal.Key
	// Now is the provider's clock.
	Now time.Time
	// Level is how much is refused.
	Level Level
	// SkipsLow leaves out rules of low confidence at every level: an agent that others
	// wrote is refused only for what a source shows.
	SkipsLow bool
	// Off holds the ids of rules that are switched off.
	Off map[string]bool
	// Paused reports whether the provider paused a reply with these words, which then may end the
	// request; nil where nobody knows.
	Paused func(said string) bool
	// ForeignTokens accepts continuity tokens that this simulator did not issue,
	// as recorded traffic holds them; everything else about them is checked.
	ForeignTokens bool
}

// Refusal is a provider's no, in its own words.
type Refusal struct {
	// Rule is the id of the rule that is broken.
	Rule   string
	Status int `yaml:"status" data:"required"`
	// Type is the provider's class of the error: "invalid_request_error",
	// "INVALID_ARGUMENT".
	Type string `yaml:"type" data:"required"`
	// Code and Param are OpenAI's; "" is null.
	Code    string `yaml:"code"`
	Param   string `yaml:"param"`
	Message string `yaml:"message" data:"required"`
	// Details is Gemini's: the error's details, a JSON array; nil is none.
	Details []byte
	// Listed is Gemini's: the error stands in a JSON array, as the stream that
	// was asked for would have.
	Listed bool
	// Note says for people what the provider's words keep to themselves, e.g.
	// what about a token is wrong. It is not part of the response.
	Note string
}

// Error returns the rule and the provider's message.
func (r *Refusal) Error() string { return r.Rule + ": " + r.Message }

// First returns the refusal of the first rule that the request breaks, or nil.
// The refusal's Rule is filled in.
func First[R any](rules []Rule[R], request R, env Env) *Refusal {
	for i := range rules {
		r := &rules[i]
		if env.Level > r.Least || env.Off[r.ID] || env.SkipsLow && r.Confidence == Low {
			continue
		}
		for _, b := range r.pass(request, env, true).Breaches {
			if b.Refusal != nil {
				b.Refusal.Rule = b.Rule
				return b.Refusal
			}
		}
	}
	return nil
}

// Infos states rules in their order.
func Infos[R any](rules []Rule[R]) []Info {
	infos := make([]Info, len(rules))
	for i, r := range rules {
		infos[i] = r.Info
	}
	return infos
}

// Levels are the names of the levels, from the most to the least refused.
var Levels = []string{"strict", "live", "lenient"}

// ParseLevel reads the name of a level.
func ParseLevel(name string) (Level, error) {
	i := slices.Index(Levels, name)
	if i < 0 {
		return 0, fmt.Errorf("level %q: unknown; use %s", name, strings.Join(Levels, ", "))
	}
	return Level(i), nil
}

// String returns the level's name.
func (l Level) String() string {
	if int(l) < len(Levels) {
		return Levels[l]
	}
	return fmt.Sprintf("level(%d)", uint8(l))
}
