package rule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/rule"
)

// TestRegister holds that a book with a part missing is refused in words that name the wire and
// the part.
func TestRegister(t *testing.T) {
	judge := func(rule.Seen, func(rule.Hosts) bool) map[string][]*rule.Pass { return nil }
	described := func() *members.Description { return nil }
	sound := rule.Info{ID: "T-1", Demand: "a demand", Source: "recorded", Confidence: rule.High}
	for want, b := range map[string]*rule.Book{
		"lacks Judge or Members":    {Members: described},
		"lack the id of their rule": {Judge: judge, Members: described, Words: []rule.Words{{Quote: "No."}}},
		`rule "T-2" (a demand) needs`: {Judge: judge, Members: described,
			Rules: []rule.Info{sound, {ID: "T-2", Demand: "a demand", Confidence: rule.High}}},
		"the aspect X is listed": {Judge: judge, Members: described, Aspects: []string{"X", "X"}},
	} {
		if err := rule.Register("broken", b); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), `wire "broken"`) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	whole := &rule.Book{Judge: judge, Members: described, Rules: []rule.Info{sound}}
	if err := rule.Register("whole", whole); err != nil {
		t.Fatal(err)
	}
	if err := rule.Register("whole", whole); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("registered twice: %v", err)
	}
	if rule.Books()["whole"] != whole || rule.Books()["broken"] != nil {
		t.Errorf("the books are %v", rule.Books())
	}
}

// TestReadTexts holds that an unknown kind of refusal is refused with its place and the nearest kind.
func TestReadTexts(t *testing.T) {
	defer func() {
		said := fmt.Sprint(recover())
		if !strings.HasPrefix(said, `wires/broken/refusals.yaml:2:3: kinds.not_fuond: "not_fuond" is not known`) ||
			!strings.HasSuffix(said, "did you mean not_found?") {
			t.Error(said)
		}
	}()
	rule.ReadTexts("broken", []byte("kinds:\n  not_fuond: {status: 404, type: none, message: No.}\nwords: [{rule: T-1}]\n"))
}

// TestWords holds that patterns are read in their order, with stars between their parts.
func TestWords(t *testing.T) {
	b := &rule.Book{Words: []rule.Words{{Rule: "N-1", Quote: "Too long.", Reads: []string{"name*too long"}},
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
