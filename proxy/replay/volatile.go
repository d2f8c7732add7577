package replay

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/wires"
)

// volatileField is a field in which a request of a provider may differ from the recorded one. The
// names are part of the cassette format.
type volatileField struct {
	wires.Volatile
	provider string
}

// volatileFields lists the fields of all wires, by the names of the wires.
func volatileFields() (fields []volatileField) {
	for _, w := range slices.SortedFunc(slices.Values(wires.All()),
		func(a, b *wires.Wire) int { return cmp.Compare(a.Name, b.Name) }) {
		for _, v := range w.Volatile {
			fields = append(fields, volatileField{v, w.Name})
		}
	}
	return fields
}

// Rules returns what a recorder writes into Meta.Matching: the names of the volatile fields of
// format 1, and the given rules. To a cassette that names no rules all volatile fields apply.
func Rules(given ...Scrub) []string {
	var names []string
	for _, f := range volatileFields() {
		names = append(names, f.Name)
	}
	for _, r := range given {
		names = append(names, r.Word())
	}
	return names
}

// ScrubsOf returns the scrub rules that a cassette was recorded with.
func ScrubsOf(recording *cassette.Cassette) (Scrubs, error) {
	rs, err := rulesOf(recording)
	return rs.scrubs, err
}

// UnmatchedScrubs returns those of the given paths and patterns that take nothing out of
// any request of a recording: they may be misspelt.
func UnmatchedScrubs(recording *cassette.Cassette, given Scrubs) []string {
	var left Scrubs
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
			left = slices.DeleteFunc(left, func(r Scrub) bool { return len(taken[r.String()]) > 0 })
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
		return ruleSet{fields: volatileFields()}, nil
	}
	fields := volatileFields()
	for _, word := range words {
		if i := slices.IndexFunc(fields, func(f volatileField) bool { return f.Name == word }); i >= 0 {
			rs.fields = append(rs.fields, fields[i])
			continue
		}
		r, err := scrubFromWord(word)
		if err != nil {
			return rs, fmt.Errorf(
				"%s: matching rule %s is unknown to this build; use a newer one, or record the cassette again",
				recording.Name(), word)
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
			body, _ = f.cutPath(body, f.Path)
		}
	}
	return body
}

// mayOccur is a cheap test that is false for most bodies without the field.
func (f volatileField) mayOccur(body []byte) bool {
	needle := `"` + f.Path[len(f.Path)-1] + `"`
	if f.Text != "" {
		needle = f.Text
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
		_, was := f.cutPath(recorded.body, f.Path)
		if _, is := f.cutPath(asked.body, f.Path); !bytes.Equal(was, is) {
			names = append(names, f.Name)
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
		case f.Text != "" && !bytes.Contains(inner, []byte(`"text":"`+f.Text)):
			kept = append(kept, whole)
		default:
			taken = append(taken, whole...)
		}
	}
	return slices.Concat(value[:1], bytes.Join(kept, []byte(",")), value[len(value)-1:]), taken
}

// ruleSet is everything by which two requests may differ and still be the same.
type ruleSet struct {
	fields []volatileField
	scrubs Scrubs
	places []Place
}

// newRuleSet returns the rules of a cassette and the given ones. here is where the
// program of the replay runs.
func newRuleSet(recording *cassette.Cassette, given Scrubs, here Place) (rs ruleSet, err error) {
	if rs, err = rulesOf(recording); err != nil {
		return rs, err
	}
	rs.scrubs = append(rs.scrubs, given...)
	if len(here.Only(rs.scrubs)) == 0 {
		return rs, nil
	}
	rs.places = []Place{here}
	for in, err := range recording.All() {
		known := func(p Place) bool { return maps.Equal(p, in.Place) }
		if err == nil && len(in.Place) > 0 && !slices.ContainsFunc(rs.places, known) {
			rs.places = append(rs.places, in.Place)
		}
	}
	return rs, nil
}

// withoutVolatile returns f without what the rules allow to differ.
func (f form) withoutVolatile(rs ruleSet) form {
	if f.json {
		f.body = withoutVolatileFields(f.body, f.provider, rs.fields)
		f.body, _ = applyScrubs(f.body, rs.scrubs, rs.places)
	}
	return f
}

// applyScrubs applies rules to a canonical JSON body.
func applyScrubs(body []byte, rules Scrubs, places []Place) ([]byte, takenOut) {
	if len(rules) == 0 {
		return body, nil
	}
	v, err := decodeJSON(body)
	if err != nil || v == (absent{}) {
		return body, nil
	}
	v, taken := rules.apply(v, places...)
	return []byte(encodeJSON(v)), taken
}

// rulesUsed names the rules without which two requests with the same key would differ.
func (rs ruleSet) rulesUsed(recorded, asked form) []string {
	if !asked.json || !recorded.json {
		return nil
	}
	names := usedFields(recorded, asked, rs.fields)
	_, was := applyScrubs(withoutVolatileFields(recorded.body, recorded.provider, rs.fields), rs.scrubs, rs.places)
	_, is := applyScrubs(withoutVolatileFields(asked.body, asked.provider, rs.fields), rs.scrubs, rs.places)
	return append(names, was.differing(is)...)
}
