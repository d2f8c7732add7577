package rule

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/wires/members"
)

// TestRegister holds that a book with a part missing is refused in words that name the wire and
// the part.
func TestRegister(t *testing.T) {
	judge := func(Seen, func(Hosts) bool) map[string][]*Pass { return nil }
	described := func() *members.Description { return nil }
	sound := Info{ID: "T-1", Demand: "a demand", Source: "recorded", Confidence: High}
	for want, b := range map[string]*Book{
		"lacks Judge or Members":    {Members: described},
		"lack the id of their rule": {Judge: judge, Members: described, Words: []Words{{Quote: "No."}}},
		`rule "T-2" (a demand) needs`: {Judge: judge, Members: described,
			Rules: []Info{sound, {ID: "T-2", Demand: "a demand", Confidence: High}}},
		"the aspect X is listed": {Judge: judge, Members: described, Aspects: []string{"X", "X"}},
	} {
		if err := Register("broken", b); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), `wire "broken"`) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	whole := &Book{Judge: judge, Members: described, Rules: []Info{sound}}
	if err := Register("whole", whole); err != nil {
		t.Fatal(err)
	}
	if err := Register("whole", whole); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("registered twice: %v", err)
	}
	if Books()["whole"] != whole || Books()["broken"] != nil {
		t.Errorf("the books are %v", Books())
	}
}

// TestWords holds that patterns are read in their order, with stars between their parts.
func TestWords(t *testing.T) {
	b := &Book{Words: []Words{{Rule: "N-1", Quote: "Too long.", Reads: []string{"name*too long"}},
		{Rule: "N-2", Reads: []string{"too long"}}}}
	for said, want := range map[string]string{"The NAME is too long": "N-1", "Too long is the name": "N-2",
		"Short": ""} {
		if got := b.RuleOf(said); got != want {
			t.Errorf("%q speaks of %q, want %q", said, got, want)
		}
	}
	if b.QuoteOf("N-1") != "Too long." || b.QuoteOf("N-2") != "" {
		t.Error("the quotes are wrong")
	}
}
