package specs

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// The ends that not every provider has.
const (
	// StopRefusal is a model that declines.
	StopRefusal Stop = "refusal"
	// StopPause is a long turn that the client is to continue.
	StopPause Stop = "pause_turn"
	// stopContext is a context that is full.
	stopContext Stop = "model_context_window_exceeded"
	// StopFilter is a reply that a filter cut short.
	StopFilter Stop = "content_filter"
	// StopBlocked is a prompt that is not answered at all.
	StopBlocked Stop = "blocked_prompt"
)

// stops are the ends a scenario can ask for, by provider.
var stops = map[string][]Stop{
	"anthropic": {StopEnd, StopTool, StopMaxTokens, StopRefusal, StopPause, stopContext},
	"openai":    {StopEnd, StopTool, StopMaxTokens, StopRefusal, StopFilter},
	"gemini":    {StopEnd, StopTool, StopMaxTokens, StopRefusal, StopFilter, StopBlocked},
}

// Rejection refuses a request with a status before the turn is sent.
type Rejection struct {
	// Kind is "rate_limit", "quota", "overloaded", "server", "timeout" or
	// "context", a prompt that is too long; or what a request must not hold: "image",
	// "tool", "effort" or "token".
	Kind string
	// Retry is the form in which the provider says when to come back:
	// "seconds", "date", "milliseconds", or "" when it does not say. Gemini has
	// one form, whatever is asked for.
	Retry string
	// Times is how often the same request is turned down, at least 1.
	Times int
	// Holds is a text with nonces: each request that holds it is turned down, and no
	// other. "" turns down any request.
	Holds string
}

// IsAboutContent reports whether requests are turned down for what they hold, each as
// long as it holds that, and not so many times.
func (r *Rejection) IsAboutContent() bool {
	return slices.Contains(contentRejections, r.Kind) || r.Holds != ""
}

// HasStall reports whether a reply falls silent and stays open.
func (s *Scenario) HasStall() bool {
	return slices.ContainsFunc(s.Turns, func(t Turn) bool { return t.Stall != nil })
}

// PretendsLength reports whether a text of a few words is turned down as too long, each
// time it is sent. An agent that counts tokens itself cannot find what to shorten.
func (s *Scenario) PretendsLength() bool {
	return slices.ContainsFunc(s.Turns, func(t Turn) bool { return t.Refuse != nil && t.Refuse.Kind == "context" && t.Refuse.Holds != "" })
}

// HasGrease reports whether a reply holds what no client knows.
func (s *Scenario) HasGrease() bool {
	return slices.ContainsFunc(s.Turns, func(t Turn) bool { return len(t.Grease) > 0 })
}

// Grease is what a stream may hold and a client must bear.
type Grease string

// The kinds of grease.
const (
	// GreaseEvent adds an event of an unknown type after the first event.
	GreaseEvent Grease = "unknown_event"
	// GreaseBlock adds a block, item or part of an unknown type behind the
	// others.
	GreaseBlock Grease = "unknown_block"
	// GreaseField adds an unknown field to every event, or to the document.
	GreaseField Grease = "unknown_field"
	// GreaseStart sends message_start twice (anthropic).
	GreaseStart Grease = "duplicate_start"
	// GreaseStop begins with an empty chunk that says STOP (gemini).
	GreaseStop Grease = "leading_stop"
	// GreaseUsage ends with a chunk of usage and nothing else (gemini).
	GreaseUsage Grease = "usage_trailer"
)

var (
	rejections = []string{"rate_limit", "quota", "overloaded", "server", "timeout", "context"}
	// contentRejections are about what a request holds.
	contentRejections = []string{"image", "tool", "effort", "token"}
	retryForms        = []string{"seconds", "date", "milliseconds"}
	greases           = []string{string(GreaseEvent), string(GreaseField), string(GreaseBlock), string(GreaseStart), string(GreaseStop), string(GreaseUsage)}
	// greaseOf restricts a kind to one provider.
	greaseOf = map[Grease]string{GreaseStart: "anthropic", GreaseStop: "gemini", GreaseUsage: "gemini"}
)

func (p *scenarioParser) parseStop(n *yaml.Node) Stop {
	var known []string
	for _, provider := range providers {
		for _, s := range stops[provider] {
			if !slices.Contains(known, string(s)) {
				known = append(known, string(s))
			}
		}
	}
	return Stop(p.oneOf(n, known...))
}

func (p *scenarioParser) parseRejection(n *yaml.Node) *Rejection {
	r, given := Rejection{Times: 1}, []string(nil)
	p.parseFields(n, fields{
		"kind":  func(n *yaml.Node) { r.Kind = p.oneOf(n, slices.Concat(rejections, contentRejections)...) },
		"retry": func(n *yaml.Node) { r.Retry = p.oneOf(n, retryForms...) },
		"times": func(n *yaml.Node) { r.Times = p.parseCount(n); given = append(given, "times") },
		"holds": func(n *yaml.Node) { r.Holds = p.parseFilledText(n) },
	}, "kind")
	if slices.Contains(contentRejections, r.Kind) && len(n.Content) > 2 {
		p.failAt(n.Line, "refuse: kind %s stands alone; each request is refused that has it", r.Kind)
	}
	if r.Holds != "" && slices.Contains(given, "times") {
		p.failAt(n.Line, "refuse: holds and times exclude each other; each request is refused that holds the text")
	}
	return &r
}

func (p *scenarioParser) parseGrease(n *yaml.Node) Grease { return Grease(p.oneOf(n, greases...)) }

// wanting checks that provider can do what the turn asks for.
func (p *scenarioParser) wanting(t Turn, provider string) {
	if t.Stop != "" && !slices.Contains(stops[provider], t.Stop) {
		p.failAt(t.Line, "%s has no stop %s; known there: %s", provider, t.Stop, joinNames(stops[provider]))
	}
	says := func(b Block) bool { return b.For(provider) && b.Kind == KindText }
	if provider == "openai" && t.Stop == StopRefusal && !slices.ContainsFunc(t.Emit, says) {
		p.failAt(t.Line, "a refusal of openai is a text; the turn has none")
	}
	if t.Stop == StopBlocked && len(t.Emit) > 0 {
		p.failAt(t.Line, "a prompt that is blocked gets no reply; leave emit out")
	}
	if t.Lost && provider != "openai" {
		p.failAt(t.Line, "lost is for openai only, where requests name replies")
	}
	for _, g := range t.Grease {
		if of := greaseOf[g]; of != "" && of != provider {
			p.failAt(t.Line, "grease %s is for %s only; a scenario with it cannot be for %s", g, of, provider)
		}
	}
}

func joinNames(all []Stop) string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}
