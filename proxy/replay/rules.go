package replay

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/proxy/scrub"
)

// rule names a field in which a request may differ from the recorded one,
// because no reply depends on it: it labels the caller or tunes a cache. The
// names are part of the cassette format: a name in use is never changed.
type rule struct {
	name     string
	provider string
	path     []string // members from the top; "[]" is each element of an array
	text     string   // what the "text" member at path begins with, "" for any value
}

func fieldRule(provider string, path ...string) rule {
	return rule{name: provider + "." + strings.Join(path, "."), provider: provider, path: path}
}

var rules = []rule{
	// Claude Code describes itself in the first block of its system prompt, with
	// a checksum that differs in each request.
	{"anthropic.system.billing-header", llm.Anthropic, []string{"system", "[]"}, "x-anthropic-billing-header:"},
	fieldRule(llm.Anthropic, "metadata"),
	fieldRule(llm.Gemini, "labels"),
	// gemini-cli with a Google account: Code Assist's envelope.
	fieldRule(llm.Gemini, "request", "session_id"),
	fieldRule(llm.Gemini, "user_prompt_id"),
	fieldRule(llm.OpenAI, "client_metadata"),
	fieldRule(llm.OpenAI, "metadata"),
	fieldRule(llm.OpenAI, "prompt_cache_key"),
	fieldRule(llm.OpenAI, "safety_identifier"),
	fieldRule(llm.OpenAI, "user"),
}

// Rules names the volatility rules of format 1: what a recorder writes into
// Meta.Matching, behind them the given ones, and without those what applies to a
// cassette that names none.
func Rules(given ...scrub.Rule) []string {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	for _, r := range given {
		names = append(names, r.Word())
	}
	return names
}

// ScrubsOf returns the rules of a cassette that are not fields of a provider.
func ScrubsOf(recording *cassette.Cassette) (scrub.Rules, error) {
	rs, err := rulesOf(recording)
	return rs.scrubs, err
}

// UnmatchedScrubs returns those of the given paths and patterns that take nothing out of
// any request of a recording: they may be misspelt.
func UnmatchedScrubs(recording *cassette.Cassette, given scrub.Rules) []string {
	var left scrub.Rules
	for _, r := range given {
		if r.IsOwn() {
			left = append(left, r)
		}
	}
	for i := 0; i < recording.Len() && len(left) > 0; i++ {
		r, err := recording.Request(i)
		if err != nil {
			continue
		}
		if f := formOf(r); f.json {
			_, taken := applyScrubs(f.body, left, nil)
			left = slices.DeleteFunc(left, func(r scrub.Rule) bool { return len(taken[r.String()]) > 0 })
		}
	}
	var names []string
	for _, r := range left {
		names = append(names, r.String())
	}
	return names
}

// rulesOf returns the rules a cassette was recorded with.
func rulesOf(recording *cassette.Cassette) (rs ruleSet, err error) {
	words := recording.Meta().Matching
	if words == nil {
		return ruleSet{fields: rules}, nil
	}
	for _, word := range words {
		if i := slices.IndexFunc(rules, func(r rule) bool { return r.name == word }); i >= 0 {
			rs.fields = append(rs.fields, rules[i])
			continue
		}
		r, err := scrub.FromWord(word)
		if err != nil {
			return rs, fmt.Errorf("%s: matching rule %s is unknown to this build; use a newer one, or record the cassette again", recording.Name(), word)
		}
		rs.scrubs = append(rs.scrubs, r)
	}
	return rs, nil
}

// withoutVolatileFields removes from a canonical JSON body what the provider's
// rules allow to differ.
func withoutVolatileFields(body []byte, provider string, rules []rule) []byte {
	for _, r := range rules {
		if r.provider == provider && r.mayApply(body) {
			body, _ = r.cutPath(body, r.path)
		}
	}
	return body
}

// mayApply is a cheap test that is false for most bodies.
func (r rule) mayApply(body []byte) bool {
	needle := `"` + r.path[len(r.path)-1] + `"`
	if r.text != "" {
		needle = r.text
	}
	return bytes.Contains(body, []byte(needle))
}

// cutPath splits a canonical JSON value into the rest and what lies at path.
func (r rule) cutPath(value []byte, path []string) (rest, taken []byte) {
	opening := byte('{')
	if path[0] == "[]" {
		opening = '['
	}
	if len(value) == 0 || value[0] != opening {
		return value, nil
	}
	var kept [][]byte
	for e := range llm.Elements(value) {
		whole, inner := value[e.Start:e.End], value[e.Value:e.End]
		switch {
		case path[0] != "[]" && string(e.Name) != path[0]:
			kept = append(kept, whole)
		case len(path) > 1:
			left, out := r.cutPath(inner, path[1:])
			kept, taken = append(kept, slices.Concat(value[e.Start:e.Value], left)), append(taken, out...)
		case r.text != "" && !bytes.Contains(inner, []byte(`"text":"`+r.text)):
			kept = append(kept, whole)
		default:
			taken = append(taken, whole...)
		}
	}
	return slices.Concat(value[:1], bytes.Join(kept, []byte(",")), value[len(value)-1:]), taken
}
