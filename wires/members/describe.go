package members

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/wires/tree"
)

// IsOfBlock reports whether an unknown name is the type of an object, or the kind of one that is known by
// the name of its member.
func (f Fault) IsOfBlock() bool {
	return f.Kind == UnknownType ||
		f.Kind == Unknown && slices.ContainsFunc(f.Object.Members, func(m *Member) bool { return m.OneOf })
}

// Describe says for the referee what is wrong, behind the path of the member.
func (f Fault) Describe() string {
	switch m := f.Member; f.Kind {
	case Unknown:
		return "is not a member that the provider knows there" + f.likely()
	case NoBeta:
		return "belongs to the beta " + strings.Join(m.Betas, " or ") + ", which anthropic-beta does not name"
	case UnknownType:
		return fmt.Sprintf("has the type %.40q, which the provider does not know there", f.Name)
	case Missing:
		return "is required and absent"
	case Empty:
		if f.IsUnverified {
			return "is an empty list, of which it is not known whether the provider takes it"
		}
		return "is empty"
	case Null:
		if m.Required {
			return "is null"
		}
		return "is null; leave it out"
	case WrongValue:
		return fmt.Sprintf("is %.40q, not one of %s", f.Value.Text(), strings.Join(m.Values, ", "))
	case OutOfRange:
		return fmt.Sprintf("is %.40s, outside %s", f.Value.Raw(), m.describeRange())
	case WrongLength:
		length, unit := len(f.Value.Items()), map[tree.Kind]string{tree.Array: "elements", tree.Object: "members",
			tree.String: "characters"}[f.Value.Kind()]
		if f.Value.Is(tree.String) {
			length = utf8.RuneCountInString(f.Value.Text())
		}
		return fmt.Sprintf("has %d %s, outside %s", length, unit, m.describeRange())
	case WrongForm:
		return fmt.Sprintf("is %.40q, which does not match %s", f.Value.Text(), m.Pattern)
	case WrongType:
		types := make([]string, len(m.Types))
		for i := range types {
			types[i] = typeNames[m.Types[i]]
		}
		return "is " + describeKind(f.Value) + ", not " + strings.Join(types, " or ")
	default: // what only the simulator looks at
		return "is not as it should be"
	}
}

// moved are members of Chat Completions, and where the Responses API has them.
var moved = map[string]string{"messages": "input", "response_format": "text.format", "reasoning_effort": "reasoning.effort",
	"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}

// likely says which member was probably meant: one that the object does not have yet.
func (f Fault) likely() string {
	var absent []string
	for _, m := range f.Object.Members {
		if !slices.Contains(f.Around.Names(), m.Name) && !slices.Contains(m.Betas, "vertex") &&
			!slices.Contains(m.Betas, "simulator") {
			absent = append(absent, m.Name)
		}
	}
	meant := moved[f.Name]
	if parent, _, _ := strings.Cut(meant, "."); !slices.Contains(absent, parent) {
		meant = spelling.Nearest(f.Name, absent)
	}
	if meant != "" {
		return " (did you mean " + meant + "?)"
	}
	return ""
}

var typeNames = map[byte]string{'s': "a string", 'n': "a number", 'i': "a whole number", 'b': "true or false",
	'a': "a list", 'o': "an object", 'y': "a string", 'e': "a string or a number", 't': "an object"}

func describeKind(v Value) string {
	if v.Is(tree.Bool) {
		return v.Raw()
	}
	number := fmt.Sprintf("the number %.20s", v.Raw())
	return map[tree.Kind]string{tree.String: "a string", tree.Integer: number, tree.Decimal: number, tree.Null: "null",
		tree.Array: "a list", tree.Object: "an object"}[v.Kind()]
}

func (m *Member) describeRange() string {
	bound := func(f *float64) string {
		if f == nil {
			return "…"
		}
		return strconv.FormatFloat(*f, 'g', -1, 64)
	}
	return bound(m.Min) + " to " + bound(m.Max)
}
