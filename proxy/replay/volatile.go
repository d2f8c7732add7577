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

// volatileField is a field in which a request may differ from the recorded one,
// because no reply depends on it: it labels the caller or tunes a cache. The
// names are part of the cassette format: a name in use is never changed.
type volatileField struct {
	name     string
	provider string
	path     []string // members from the top; "[]" is each element of an array
	text     string   // what the "text" member at path begins with, "" for any value
}

func wholeField(provider string, path ...string) volatileField {
	return volatileField{name: provider + "." + strings.Join(path, "."), provider: provider, path: path}
}

var volatileFields = []volatileField{
	// Claude Code describes itself in the first block of its system prompt, with
	// a checksum that differs in each request.
	{"anthropic.system.billing-header", llm.Anthropic, []string{"system", "[]"}, "x-anthropic-billing-header:"},
	wholeField(llm.Anthropic, "metadata"),
	wholeField(llm.Gemini, "labels"),
	// gemini-cli with a Google account: Code Assist's envelope.
	wholeField(llm.Gemini, "request", "session_id"),
	wholeField(llm.Gemini, "user_prompt_id"),
	wholeField(llm.OpenAI, "client_metadata"),
	wholeField(llm.OpenAI, "metadata"),
	wholeField(llm.OpenAI, "prompt_cache_key"),
	wholeField(llm.OpenAI, "safety_identifier"),
	wholeField(llm.OpenAI, "user"),
}

// Rules returns what a recorder writes into Meta.Matching: the names of the volatile fields of
// format 1, and the given rules. To a cassette that names no rules all volatile fields apply.
func Rules(given ...scrub.Rule) []string {
	var names []string
	for _, f := range volatileFields {
		names = append(names, f.name)
	}
	for _, r := range given {
		names = append(names, r.Word())
	}
	return names
}

// ScrubsOf returns the scrub rules that a cassette was recorded with.
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
		return ruleSet{fields: volatileFields}, nil
	}
	for _, word := range words {
		if i := slices.IndexFunc(volatileFields, func(f volatileField) bool { return f.name == word }); i >= 0 {
			rs.fields = append(rs.fields, volatileFields[i])
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

// withoutVolatileFields removes those of the fields that are the provider's from a canonical
// JSON body.
func withoutVolatileFields(body []byte, provider string, fields []volatileField) []byte {
	for _, f := range fields {
		if f.provider == provider && f.mayOccur(body) {
			body, _ = f.cutPath(body, f.path)
		}
	}
	return body
}

// mayOccur is a cheap test that is false for most bodies without the field.
func (f volatileField) mayOccur(body []byte) bool {
	needle := `"` + f.path[len(f.path)-1] + `"`
	if f.text != "" {
		needle = f.text
	}
	return bytes.Contains(body, []byte(needle))
}

// usedFields names the fields in which two requests differ.
func usedFields(recorded, asked form, fields []volatileField) []string {
	var names []string
	for _, f := range fields {
		if f.provider != asked.provider {
			continue
		}
		_, was := f.cutPath(recorded.body, f.path)
		if _, is := f.cutPath(asked.body, f.path); !bytes.Equal(was, is) {
			names = append(names, f.name)
		}
	}
	return names
}

// cutPath splits a canonical JSON value into the rest and what lies at path.
func (f volatileField) cutPath(value []byte, path []string) (rest, taken []byte) {
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
			left, out := f.cutPath(inner, path[1:])
			kept, taken = append(kept, slices.Concat(value[e.Start:e.Value], left)), append(taken, out...)
		case f.text != "" && !bytes.Contains(inner, []byte(`"text":"`+f.text)):
			kept = append(kept, whole)
		default:
			taken = append(taken, whole...)
		}
	}
	return slices.Concat(value[:1], bytes.Join(kept, []byte(",")), value[len(value)-1:]), taken
}
