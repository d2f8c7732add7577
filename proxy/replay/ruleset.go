package replay

import (
	"maps"
	"slices"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

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
