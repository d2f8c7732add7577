package anthropic

import (
	"cmp"
	_ "embed" // for members.yaml
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/wires/members"
)

//go:embed members.yaml
var memberFile string

// Members describes the members of requests; the root is "request", of a count "count".
var Members = sync.OnceValue(func() *members.Description {
	return members.Parse(memberFile, members.Style{TagsInPath: true, Rules: map[members.Kind]string{
		members.Unknown: "A-5", members.NoBeta: "A-5", members.Missing: "A-6", members.Empty: "A-6",
		members.Null:      "A-7",
		members.WrongType: "A-7", members.UnknownType: "A-7", members.WrongValue: "A-7", members.WrongForm: "A-7",
		members.OutOfRange: "A-7", members.WrongLength: "A-7",
	}})
})

// flaw is one demand of the schema that the request breaks, in the validator's words. Its kind
// is the id of the rule, or flawUnknown.
type flaw struct{ kind, text string }

// flawUnknown is A-5 for a member that no table names. It may be newer than the tables, so only
// strictness refuses it.
const flawUnknown = "A-5 unknown"

// ruleID is the id of the rule that the flaw breaks.
func (f flaw) ruleID() string {
	id, _, _ := strings.Cut(f.kind, " ")
	return id
}

// schemaFlaws is what the schema finds.
func (c *call) schemaFlaws() []flaw {
	if c.looked {
		return c.flaws
	}
	c.looked = true
	root := "request"
	if c.counts {
		root = "count"
	}
	for _, f := range Members().Walk(c.root, root, append([]string{}, c.betas...)).Faults {
		if f.Side != members.RefereeOnly {
			c.flaws = append(c.flaws, flawOf(f))
		}
	}
	return c.flaws
}

// flawOf puts a fault into the validator's words.
func flawOf(f members.Fault) flaw {
	w, words := flaw{kind: f.Rule}, ""
	switch m := f.Member; f.Kind {
	case members.Missing:
		words = "Field required"
	case members.Unknown:
		w.kind, words = flawUnknown, "Extra inputs are not permitted"
	case members.NoBeta:
		words = "Extra inputs are not permitted"
	case members.UnknownType:
		words = fmt.Sprintf("Input tag '%s' found using 'type' does not match any of the expected tags: %s", f.Name,
			expectedTags(f.Union))
	case members.WrongForm:
		words = "String should match pattern '" + m.Pattern.String() + "'"
	case members.WrongLength:
		words = fmt.Sprintf("String should have at most %g characters", *m.Max)
		if utf8.RuneCountInString(f.Value.Text()) < int(*m.Min) {
			words = fmt.Sprintf("String should have at least %g character", *m.Min)
		}
	case members.OutOfRange:
		words = fmt.Sprintf("Input should be greater than or equal to %g", *m.Min)
		if m.Max != nil {
			words = fmt.Sprintf("range: %g..%g", *m.Min, *m.Max) // recorded
		}
	case members.Null, members.WrongType, members.WrongValue:
		switch last := m.Types[len(m.Types)-1]; {
		case m.Values != nil:
			w.kind, words = cmp.Or(m.Rule, f.Rule), "Input should be "+quoteValues(m.Values)
		default:
			if m.Rule == "A-22" { // the input of a call: null is as little an object as a text is
				w.kind = m.Rule
			}
			words = "Input should be a valid " + map[byte]string{'s': "string", 'n': "number", 'i': "integer",
				'b': "boolean", 'a': "list", 'o': "dictionary"}[last]
		}
	}
	if path := f.Said.Dotted(); path != "" {
		words = path + ": " + words
	}
	w.text = words
	return w
}

// expectedTags lists the types of an object.
func expectedTags(object string) string {
	if object == "tool" {
		return "'custom' and those of server tools"
	}
	types := slices.DeleteFunc(Members().Types(object),
		func(t string) bool { return strings.HasSuffix(t, "_tool_result") })
	slices.Sort(types)
	return "'" + strings.Join(types, "', '") + "'"
}

// quoteValues lists values as the validator does: 'a', 'b' or 'c'.
func quoteValues(values []string) string {
	last := len(values) - 1
	if last == 0 {
		return "'" + values[0] + "'"
	}
	return "'" + strings.Join(values[:last], "', '") + "' or '" + values[last] + "'"
}
