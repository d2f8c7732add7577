// Package members describes the members that the requests of one provider may have, and
// compares requests with the description.
//
// The description is data: one file a wire, members.yaml, read by [Parse]. The comparison,
// [Description.Walk], lists the faults in the order in which the provider looks for them. The
// simulator answers with the first fault, in the provider's words; the referee reports all, in
// words of its own.
//
// # The file
//
// A line "name: members" describes an object. It goes on in lines that are indented. Objects
// of different types have a line for each type, "name:type"; "a|b" lists types with the same
// members, the empty one among them for an object without a type, and * in a type stands for
// any characters. The objects called closed have no other types than those described; other
// objects that are not described may hold anything. A rule after @ is broken by another type.
//
// Members are separated by white space, in the order in which the provider looks at them:
//
//	name*@rule~:types%enum<element>(value|value)/pattern/#id[min..max]=object!beta|beta@rule~
//
// where everything but the name may be left out.
//
//   - * means required, ^ that the member may be absent and not null, + that only one of the
//     members with + may be there. A rule that follows is broken by its absence.
//   - types are letters: s string, n number, i whole number, b true or false, a list, o object;
//     of proto-JSON also y bytes in base64, e the enumeration that % names, t any object.
//   - <element> says the same of each element of a list or member of an object.
//   - values are the only strings taken; a string matches the pattern; an id begins as # says.
//   - min and max bound a number, a string's characters, a list's elements, an object's members.
//   - =object says what the member, or each of its elements, is; ={object} what each of its
//     members is.
//   - !beta names the betas, without their dates, of which one must be asked for; ! alone is
//     a member that no beta brings.
//   - The last rule is broken by a value of the right type that is not as described.
//   - ~ behind either rule says that the referee leaves it to a check of its own. With ~~ rule
//     and mark are about a value of the wrong type as well.
//
// Other words: object.name takes the member of an object described above. * allows any other
// member. ? says that only the simulator looks at the members, because they are not known well
// enough to blame an agent, - that the referee does not count the object either, ! that only the
// simulator knows the type, and ~ that the simulator refuses the type and the referee leaves
// that to a check of its own, as it does for an object that is closed with ~.
package members

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/wires/tree"
)

// Style is how one provider reads its requests.
type Style struct {
	// Proto is set for proto-JSON: members in the order of the request and in two spellings,
	// numbers and truth values in quotes, one value for a list, null for an absent member.
	Proto bool
	// TagsInPath is set where the provider names the types of objects in paths.
	TagsInPath bool
	// Integers is set where a whole number must be written without a fraction or exponent.
	Integers bool
	// TypeIsPresence is set where the rule of absence is broken by a value of the wrong type as well.
	TypeIsPresence bool
	// EmptyLists is set where it is not known whether the provider takes a required list that is empty.
	// Elsewhere the referee knows it of the outermost lists only.
	EmptyLists bool
	// Rules are the rules that faults break where the member has none of its own.
	Rules map[Kind]string
	// TypeOf returns the type of an object; nil returns what its member type says.
	TypeOf func(name string, n Value) string
}

// Description describes the objects of one provider's requests.
type Description struct {
	Style
	// Described are the objects by their name, in the order of the file.
	Described map[string][]*Object
	closed    map[string]closed
}

// closed says what it is if an object is of a type that is not described: the rule, and who asks.
type closed struct {
	rule string
	side Side
}

// Object describes the objects of one name and type.
type Object struct {
	// Types are the values of the member type, none where the object has no types.
	Types []string
	// Members are the members in the order in which the provider looks at them.
	Members []*Member
	// IsOpen is set where there may be members beside those described.
	IsOpen bool

	byName                                             map[string]*Member
	simulatorOnly, isUncounted, looseType, refusedType bool
}

// Member says what one member may hold.
type Member struct {
	Name string
	// Required is set where the member must be there, NotNull where it may be absent but not
	// null, OneOf where only one of such members may be there.
	Required, NotNull, OneOf bool
	// Types are letters of types, "" for any value. Enum is the name of an enumeration.
	Types, Enum string
	// Element describes each element of a list or member of an object, nil for any.
	Element *Member
	Values  []string
	Pattern *regexp.Regexp
	// Begin is how an id begins.
	Begin    string
	IsID     bool
	Min, Max *float64
	// Object names what the value or each of its elements is, ByName is set where instead each
	// of its members is such an object.
	Object string
	ByName bool
	Betas  []string
	// AbsenceRule and Rule are the rules that absence and a wrong value break, "" for those
	// of the Style.
	AbsenceRule, Rule string

	proto                       string // the name as a proto spells it
	hasBeta                     bool
	absenceSide, side, typeSide Side
}

// Parse reads a description. It panics if the file, which is part of the program, is wrong.
func Parse(file string, style Style) *Description {
	d := &Description{Style: style, Described: map[string][]*Object{}, closed: map[string]closed{}}
	var name string
	lines := map[string][]string{}
	var names []string
	for line := range strings.Lines(file) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
			continue
		case line[0] != ' ':
			var rest string
			name, rest, _ = strings.Cut(line, ": ")
			name, words = strings.Trim(name, `"`), strings.Fields(rest)
			names = append(names, name)
		}
		for _, w := range words {
			if w = strings.Trim(w, `"`); w != ">-" {
				lines[name] = append(lines[name], w)
			}
		}
	}
	for _, name := range names {
		if name == "closed" {
			for _, w := range lines[name] {
				w, isUnasked := strings.CutSuffix(w, "~")
				object, rule, _ := strings.Cut(w, "@")
				d.closed[object] = closed{rule, map[bool]Side{true: SimulatorOnly}[isUnasked]}
			}
			continue
		}
		o := d.parseObject(lines[name])
		name, types, hasTypes := strings.Cut(name, ":")
		if hasTypes {
			o.Types = strings.Split(types, "|")
		}
		d.Described[name] = append(d.Described[name], o)
	}
	for name, objects := range d.Described {
		for _, o := range objects {
			for _, m := range o.Members {
				if m.Object != "" && d.Described[m.Object] == nil {
					panic(fmt.Sprintf("%s.%s is said to be %q, which is not described", name, m.Name, m.Object))
				}
			}
		}
	}
	return d
}

func (d *Description) parseObject(words []string) *Object {
	o := &Object{byName: map[string]*Member{}}
	for _, w := range words {
		m := &Member{}
		switch from, name, isCopy := strings.Cut(w, "."); {
		case w == "*":
			o.IsOpen = true
			continue
		case w == "?" || w == "-":
			o.simulatorOnly, o.isUncounted = true, w == "-"
			continue
		case w == "!":
			o.looseType = true
			continue
		case w == "~":
			o.refusedType = true
			continue
		case isCopy && d.Described[from] != nil:
			m = d.Described[from][0].byName[name]
		default:
			m = parseMember(w)
		}
		o.Members, o.byName[m.Name] = append(o.Members, m), m
		if d.Proto {
			m.proto = tree.Snake(m.Name)
			o.byName[m.proto] = m
		}
	}
	return o
}

var memberForm = regexp.MustCompile(`^(\w*)([*^+])?(?:@([\w-]+)(~)?)?(?::([a-z]+))?(?:%([\w.]+))?(?:<([^>]+)>)?(?:\(([^)]+)\))?(?:/([^/]+)/)?(?:#(\w*))?` +
	`(?:\[([-\d.]*?)\.\.([-\d.]*)\])?(?:=(\w+|\{\w+\}))?(?:(!)([\w|-]*))?(?:@([\w-]+))?(~{0,2})$`)

func parseMember(word string) *Member {
	g := memberForm.FindStringSubmatch(word)
	if g == nil {
		panic(fmt.Sprintf("%q does not describe a member; see package members", word))
	}
	m := &Member{
		Name: g[1], Required: g[2] == "*", NotNull: g[2] == "^", OneOf: g[2] == "+", AbsenceRule: g[3],
		absenceSide: readSide(g[4]),
		Types:       g[5], Enum: g[6], Values: splitWords(g[8]), Begin: g[10], IsID: strings.Contains(word, "#"),
		Min: readBound(g[11]), Max: readBound(g[12]),
		Object: strings.Trim(g[13], "{}"), ByName: strings.HasPrefix(g[13], "{"), hasBeta: g[14] != "",
		Betas: splitWords(g[15]), Rule: g[16], side: readSide(g[17]),
		typeSide: readSide(strings.TrimPrefix(g[17], "~")),
	}
	if g[7] != "" {
		m.Element = parseMember(":" + g[7])
	}
	if g[9] != "" {
		m.Pattern = regexp.MustCompile(g[9])
	}
	return m
}

// readSide reads ~.
func readSide(mark string) Side {
	if mark == "" {
		return Both
	}
	return SimulatorOnly
}

func splitWords(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "|")
}

func readBound(text string) *float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	return &v
}

// Find returns the description of the objects of a name and type, nil if there is none.
func (d *Description) Find(name, typ string) *Object {
	for _, o := range d.Described[name] {
		if o.Types == nil || slices.Contains(o.Types, typ) {
			return o
		}
	}
	for _, o := range d.Described[name] {
		if slices.ContainsFunc(o.Types, func(pattern string) bool {
			fits, _ := path.Match(pattern, typ)
			return fits
		}) {
			return o
		}
	}
	return nil
}

// Types lists the types of an object whose members are described, in their order.
func (d *Description) Types(name string) (types []string) {
	for _, o := range d.Described[name] {
		if len(o.Members) > 0 && !o.IsRefused() {
			types = append(types, o.Types...)
		}
	}
	return types
}

// BetaMembers lists the members that a beta brings, as object.member; of the request itself only
// the member is named.
func (d *Description) BetaMembers(beta string) (names []string) {
	for name, objects := range d.Described {
		for _, o := range objects {
			for _, m := range o.Members {
				if said := strings.TrimPrefix(name+"."+m.Name, "request."); name != "count" &&
					asksFor([]string{beta}, m.Betas) && !slices.Contains(names, said) {
					names = append(names, said)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// Names are the names of all members.
func (d *Description) Names() map[string]bool {
	names := map[string]bool{}
	for _, objects := range d.Described {
		for _, o := range objects {
			for name := range o.byName {
				names[name] = true
			}
		}
	}
	return names
}

// IsRefused reports whether the provider does not take an object of this type where the description names it.
func (o *Object) IsRefused() bool { return o.looseType || o.refusedType }

// Member returns the member of a name, nil if the object is described without it.
func (o *Object) Member(name string) *Member { return o.byName[name] }
