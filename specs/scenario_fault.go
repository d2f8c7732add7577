package specs

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires"
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

// Rejection refuses a request with a status before the turn is sent.
type Rejection struct {
	// Kind is "rate_limit", "quota", "overloaded", "server", "timeout" or
	// "context", a prompt that is too long; or what a request must not hold: "image",
	// "tool", "effort" or "token".
	Kind string `yaml:"kind" data:"required,is=rejection"`
	// Retry is the form in which the provider says when to come back:
	// "seconds", "date", "milliseconds", or "" when it does not say. Some
	// providers have one form, whatever is asked for.
	Retry string `yaml:"retry" data:"one=seconds date milliseconds"`
	// Times is how often the same request is turned down, at least 1.
	Times int `yaml:"times" data:"min=1"`
	// Holds is a text with nonces: each request that holds it is turned down, and no
	// other. "" turns down any request.
	Holds string `yaml:"holds" data:"filled,is=text"`
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
	return slices.ContainsFunc(s.Turns,
		func(t Turn) bool { return t.Refuse != nil && t.Refuse.Kind == "context" && t.Refuse.Holds != "" })
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
	// GreaseStart sends the event that starts a message twice.
	GreaseStart Grease = "duplicate_start"
	// GreaseStop begins with an empty chunk that says STOP.
	GreaseStop Grease = "leading_stop"
	// GreaseUsage ends with a chunk of usage and nothing else.
	GreaseUsage Grease = "usage_trailer"
)

var (
	// contentRejections are about what a request holds.
	contentRejections = []string{"image", "tool", "effort", "token"}
)

// checkFor checks that a wire can do what the turn asks for, and tells addUnless what it cannot do.
func (t Turn) checkFor(w *wires.Wire, addUnless func(ok bool, format string, args ...any)) {
	for _, after := range []*After{t.Cut, t.Stall, t.failAfter()} {
		addUnless(after == nil || (*after)[w.Name] > 0, "after names no event count for %s", w.Name)
	}
	emits := func(kinds ...BlockKind) bool {
		return slices.ContainsFunc(t.Emit,
			func(b Block) bool { return b.For(w.Name) && (kinds == nil || slices.Contains(kinds, b.Kind)) })
	}
	addUnless(len(t.Emit) == 0 || emits(), "emits nothing for %s", w.Name)
	addUnless(t.Stop == "" || slices.Contains(w.Scripts.Stops, string(t.Stop)),
		"%s has no stop %s; known there: %s", w.Name, t.Stop, strings.Join(w.Scripts.Stops, ", "))
	addUnless(!w.Scripts.RefusesInText || t.Stop != StopRefusal || emits(KindText),
		"a refusal of %s is a text; the turn has none", w.Name)
	addUnless(t.Stop != StopBlocked || len(t.Emit) == 0, "a prompt that is blocked gets no reply; leave emit out")
	addUnless(!t.Lost || w.Scripts.LosesReplies,
		"lost is for providers whose requests name replies; a scenario with it cannot be for %s", w.Name)
	for _, g := range t.Grease {
		isOwn := func(w *wires.Wire) bool { return slices.Contains(w.Scripts.Greases, string(g)) }
		if i := slices.IndexFunc(wires.All(), isOwn); i >= 0 {
			addUnless(isOwn(w), "grease %s is for %s only; a scenario with it cannot be for %s", g,
				wires.All()[i].Name, w.Name)
		}
	}
	isAboutToken := t.Refuse != nil && t.Refuse.Kind == "token"
	addUnless(!isAboutToken || w.Body.Token != "", "%s has no tokens to refuse", w.Name)
}

// isOpenTo reports whether the scenario can be played on a wire that its file does not name. The wire has
// a model for scenarios, the file names every wire that has none, and the provider can do what the
// turns ask for. Tools that a provider runs itself are offered to providers that are named only.
func (s *Scenario) isOpenTo(w *wires.Wire) bool {
	isNamed := func(o *wires.Wire) bool { _, ok := s.Target(o.Name); return ok }
	left := func(o *wires.Wire) bool { return o.Scripts.Model == "" && !isNamed(o) }
	switches := func(step Step) bool { return step.Switch != nil }
	if w.Scripts.Model == "" || isNamed(w) || s.Turns == nil || slices.ContainsFunc(wires.All(), left) ||
		slices.ContainsFunc(s.Steps, switches) {
		return false
	}
	isOpen := true
	for _, t := range s.Turns {
		t.checkFor(w, func(ok bool, _ string, _ ...any) { isOpen = isOpen && ok })
		isHosted := func(b Block) bool { return b.Kind == KindSearch || b.Kind == KindCode }
		isOpen = isOpen && !slices.ContainsFunc(t.Emit, isHosted)
	}
	return isOpen
}

func (t Turn) failAfter() *After {
	if t.Fail == nil {
		return nil
	}
	return &t.Fail.After
}
