package anthropic

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/wires/tree"
)

// flaw is one demand of the schema that the request breaks, in the validator's
// words. Its kind is the id of the rule, or flawUnknown.
type flaw struct{ kind, text string }

// flawUnknown is A-5 for a member that no table names. It may be newer than the
// tables, so only strictness refuses it.
const flawUnknown = "A-5 unknown"

// ruleID is the id of the rule that the flaw breaks.
func (f flaw) ruleID() string {
	id, _, _ := strings.Cut(f.kind, " ")
	return id
}

// inspector collects flaws in the order of the schema.
type inspector struct {
	betas []string
	flaws []flaw
	paths tree.Paths
}

func (in *inspector) addFlaw(rule string, at *tree.Path, text string) {
	if path := at.Dotted(); path != "" {
		text = path + ": " + text
	}
	in.flaws = append(in.flaws, flaw{rule, text})
}

// shape is what a value must look like.
type shape func(in *inspector, v *tree.Node, at *tree.Path)

// field is a member of an object. rule is the id under which its absence is
// known, "" for A-6. takesNoNull is set where null is not the same as absent.
type field struct {
	name        string
	need        bool
	takesNoNull bool
	rule        string
	shape       shape
}

func need(name string, s shape) field     { return field{name: name, need: true, shape: s} }
func optional(name string, s shape) field { return field{name: name, shape: s} }

// object is an object of these fields and no others.
func object(fields ...field) shape {
	return func(in *inspector, v *tree.Node, at *tree.Path) {
		if !isObject(in, v, at, "A-7") {
			return
		}
		inspectFields(in, v, at, fields)
		for _, name := range v.Names() {
			known := slices.ContainsFunc(fields, func(f field) bool { return f.name == name })
			if state := in.betaStateOf(at, name); state == undeclared || state == ofNoBeta && !known {
				in.addFlaw(flawOfExtra(at, name, state), in.paths.Member(at, name), "Extra inputs are not permitted")
			}
		}
	}
}

// flawOfExtra is A-44 for a cache mark on thinking, else A-5.
func flawOfExtra(at *tree.Path, name string, state betaState) string {
	switch {
	case name == "cache_control" && at != nil && (at.Name() == "thinking" || at.Name() == "redacted_thinking"):
		return "A-44"
	case state == ofNoBeta:
		return flawUnknown
	}
	return "A-5"
}

// open is an object that may hold more than these fields: what is known of it
// is not all of it.
func open(fields ...field) shape {
	return func(in *inspector, v *tree.Node, at *tree.Path) {
		if isObject(in, v, at, "A-7") {
			inspectFields(in, v, at, fields)
		}
	}
}

func isObject(in *inspector, v *tree.Node, at *tree.Path, rule string) bool {
	if !v.Is(tree.Object) {
		in.addFlaw(rule, at, "Input should be a valid dictionary")
		return false
	}
	return true
}

func inspectFields(in *inspector, v *tree.Node, at *tree.Path, fields []field) {
	for _, f := range fields {
		member := v.Get(f.name)
		switch {
		case member == nil && f.need:
			rule := f.rule
			if rule == "" {
				rule = "A-6"
			}
			in.addFlaw(rule, in.paths.Member(at, f.name), "Field required")
		case member == nil, member.Is(tree.Null) && !f.need && !f.takesNoNull:
		default:
			f.shape(in, member, in.paths.Member(at, f.name))
		}
	}
}

// tagged is an object whose type says which shape it has; what is said about it
// names the type. other takes the types that are not listed, nil refuses them.
func tagged(kinds map[string]shape, other func(kind string) shape) shape {
	names := make([]string, 0, len(kinds))
	for name := range kinds {
		names = append(names, "'"+name+"'")
	}
	slices.Sort(names)
	expected := strings.Join(names, ", ")
	return func(in *inspector, v *tree.Node, at *tree.Path) {
		if !isObject(in, v, at, "A-7") {
			return
		}
		kind := v.Get("type")
		if kind == nil {
			in.addFlaw("A-6", in.paths.Member(at, "type"), "Field required")
			return
		}
		s := kinds[kind.Text()]
		if s == nil && other != nil {
			s = other(kind.Text())
		}
		if s == nil {
			in.addFlaw("A-7", at, fmt.Sprintf("Input tag '%s' found using 'type' does not match any of the expected tags: %s", kind.Text(), expected))
			return
		}
		s(in, v, in.paths.Member(at, kind.Text()))
	}
}

// list is an array of s.
func list(s shape) shape {
	return func(in *inspector, v *tree.Node, at *tree.Path) {
		if !v.Is(tree.Array) {
			in.addFlaw("A-7", at, "Input should be a valid list")
			return
		}
		for i := range v.Items() {
			s(in, v.Items()[i], in.paths.Element(at, i))
		}
	}
}

// either is text, or what s says.
func either(s shape) shape {
	return func(in *inspector, v *tree.Node, at *tree.Path) {
		if !v.Is(tree.String) {
			s(in, v, at)
		}
	}
}

func anything(*inspector, *tree.Node, *tree.Path) {}

func kindOf(kind tree.Kind, text string) shape {
	return func(in *inspector, v *tree.Node, at *tree.Path) {
		if !v.Is(kind) {
			in.addFlaw("A-7", at, "Input should be a valid "+text)
		}
	}
}

var (
	text  = kindOf(tree.String, "string")
	array = kindOf(tree.Array, "list")
	dict  = kindOf(tree.Object, "dictionary")
)

func boolean(in *inspector, v *tree.Node, at *tree.Path) {
	if !v.Is(tree.Bool) {
		in.addFlaw("A-7", at, "Input should be a valid boolean")
	}
}

// integer is a whole number of least or more.
func integer(least int) shape {
	return func(in *inspector, v *tree.Node, at *tree.Path) {
		n, ok := v.Whole()
		switch {
		case !ok:
			in.addFlaw("A-7", at, "Input should be a valid integer")
		case n < least:
			in.addFlaw("A-7", at, fmt.Sprintf("Input should be greater than or equal to %d", least))
		}
	}
}

// between is a number in a range, refused in the words of the recorded reply.
func between(least, most float64) shape {
	return func(in *inspector, v *tree.Node, at *tree.Path) {
		n, ok := v.Number()
		switch {
		case !ok:
			in.addFlaw("A-7", at, "Input should be a valid number")
		case n < least || n > most:
			in.addFlaw("A-7", at, fmt.Sprintf("range: %g..%g", least, most))
		}
	}
}

// oneOf is one of some words.
func oneOf(rule string, words ...string) shape {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "'" + w + "'"
	}
	said := strings.Join(quoted, ", ")
	if i := strings.LastIndex(said, ", "); i >= 0 {
		said = said[:i] + " or " + said[i+2:]
	}
	return func(in *inspector, v *tree.Node, at *tree.Path) {
		if !v.Is(tree.String) || !slices.Contains(words, v.Text()) {
			in.addFlaw(rule, at, "Input should be "+said)
		}
	}
}

// matching is text of a pattern.
func matching(rule, pattern string) shape {
	re := regexp.MustCompile(pattern)
	return func(in *inspector, v *tree.Node, at *tree.Path) {
		switch {
		case !v.Is(tree.String):
			in.addFlaw("A-7", at, "Input should be a valid string")
		case !re.MatchString(v.Text()):
			in.addFlaw(rule, at, "String should match pattern '"+pattern+"'")
		}
	}
}

// upTo is text of at least one and at most some characters.
func upTo(rule string, most int) shape {
	return func(in *inspector, v *tree.Node, at *tree.Path) {
		switch n := utf8.RuneCountInString(v.Text()); {
		case !v.Is(tree.String):
			in.addFlaw("A-7", at, "Input should be a valid string")
		case n == 0:
			in.addFlaw(rule, at, "String should have at least 1 character")
		case n > most:
			in.addFlaw(rule, at, fmt.Sprintf("String should have at most %d characters", most))
		}
	}
}
