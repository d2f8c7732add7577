package members

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/wires/tree"
)

// Value is a value of a request.
type Value = *tree.Node

// Kind is what is wrong with a member.
type Kind uint8

// The kinds of faults.
const (
	Unknown     Kind = iota // the object has no such member
	NoBeta                  // the member belongs to a beta that the request does not ask for
	Missing                 // a required member is absent
	Null                    // a member that must not be null is null
	Empty                   // a required list or name is empty
	WrongType               // the value is of another JSON type
	UnknownType             // an object is of a type that is not known there
	WrongValue              // a string is none of those that are taken
	WrongForm               // a string does not match its pattern
	WrongID                 // an id does not begin as it should, or has other characters
	OutOfRange              // a number
	WrongLength             // the length of a string, list or object
	SetTwice                // two members of which only one may be there
	NotBase64               // bytes
)

// Side says who holds a request to a demand.
type Side uint8

// The sides.
const (
	Both Side = iota
	SimulatorOnly
	RefereeOnly
)

// Place is where a value stands.
type Place struct {
	// At is the path as the request spells it, Said as the provider writes it. They may end in
	// the name of a member that is absent.
	At, Said *tree.Path
}

// Fault is one place at which a request is not as described.
type Fault struct {
	Kind Kind
	// Rule is the rule that is broken.
	Rule string
	Side Side
	Place
	// Value is the value at fault, of an absent member the object.
	Value Value
	// Around is the object that has an unknown member.
	Around Value
	// Member describes the value, nil if there is no description of it. Of an element it is
	// what is said of the list.
	Member *Member
	// Object describes the object that has an unknown member or lacks one.
	Object *Object
	// Name is that of the member, or the type that is not known of the object called Union.
	Name, Union string
	// IsUnverified is set where neither a source nor a recording says what the provider does.
	IsUnverified bool
}

// Found is the result of a comparison.
type Found struct {
	Faults []Fault
	// Objects counts the objects that the referee may judge.
	Objects int
}

// Walk compares a request with the description of the object called name. betas are those
// that the request asks for, nil if they are not known.
func (d *Description) Walk(root Value, name string, betas []string) *Found {
	w := walker{Description: d, betas: betas}
	w.object(root, name, Place{})
	return &w.Found
}

type walker struct {
	*Description
	Found
	betas []string
	paths tree.Paths
	// inSimulatorOnly counts the objects around the current one at which only the simulator looks.
	inSimulatorOnly int
}

func (w *walker) add(f Fault) {
	if f.Rule == "" {
		f.Rule = w.Rules[f.Kind]
	}
	if w.inSimulatorOnly > 0 {
		f.Side = SimulatorOnly
	}
	w.Faults = append(w.Faults, f)
}

// under is the place of the member spelled so, which the provider calls name.
func (w *walker) under(p Place, spelled, name string) Place {
	at := w.paths.Member(p.At, spelled)
	if p.At == p.Said && spelled == name {
		return Place{at, at}
	}
	return Place{at, w.paths.Member(p.Said, name)}
}

func (w *walker) element(p Place, i int) Place {
	at := w.paths.Element(p.At, i)
	if p.At == p.Said {
		return Place{at, at}
	}
	return Place{at, w.paths.Element(p.Said, i)}
}

// object compares an object called name.
func (w *walker) object(v Value, name string, p Place) {
	typ := v.Text("type")
	if w.TypeOf != nil {
		typ = w.TypeOf(name, v)
	}
	o := w.Find(name, typ)
	closed, isClosed := w.closed[name]
	if o == nil && !isClosed {
		return
	}
	if w.inSimulatorOnly == 0 && (o != nil && !o.isUncounted || o == nil && closed.side == Both) {
		w.Objects++
	}
	if o == nil || o.IsRefused() {
		f := Fault{Kind: UnknownType, Rule: closed.rule, Side: closed.side, Place: p, Value: v, Name: typ, Union: name}
		switch {
		case o == nil && (v.Get("type") == nil || typ == "" && w.Integers):
			f = Fault{Kind: Missing, Side: closed.side, Place: w.under(p, "type", "type"), Value: v, Name: "type"}
		case o == nil:
		case o.looseType:
			f.Side = RefereeOnly
		default:
			f.Side = SimulatorOnly
		}
		if w.add(f); o == nil {
			return
		}
	}
	if w.TagsInPath && o.Types != nil {
		p.Said = w.paths.Member(p.Said, cmp.Or(typ, o.Types[0]))
	}
	if o.simulatorOnly || o.looseType {
		w.inSimulatorOnly++
		defer func() { w.inSimulatorOnly-- }()
	}
	if w.Proto {
		w.protoMembers(v, o, p)
		return
	}
	for _, m := range o.Members {
		value := v.Get(m.Name)
		if value == nil {
			if m.Required {
				w.addMissing(v, o, m, p)
			}
			continue
		}
		w.member(value, m, w.under(p, m.Name, m.Name))
	}
	for i, spelled := range v.Names() {
		m := o.byName[spelled]
		switch {
		case m == nil && !o.IsOpen:
			w.add(Fault{Kind: Unknown, Place: w.under(p, spelled, spelled), Value: v.Items()[i], Object: o, Around: v,
				Name: spelled})
		case m != nil && m.hasBeta && (w.betas != nil || m.Betas == nil) && !asksFor(w.betas, m.Betas):
			w.add(Fault{Kind: NoBeta, Rule: m.Rule, Side: m.side, Place: w.under(p, spelled, spelled),
				Value: v.Items()[i], Member: m})
		}
	}
}

// asksFor reports whether one of the names asks for one of the betas, which have no dates.
func asksFor(names, betas []string) bool {
	return slices.ContainsFunc(names, func(b string) bool {
		return slices.ContainsFunc(betas,
			func(prefix string) bool { return b == prefix || strings.HasPrefix(b, prefix+"-") })
	})
}

func (w *walker) addMissing(v Value, o *Object, m *Member, p Place) {
	w.add(Fault{
		Kind: Missing, Rule: m.AbsenceRule, Side: m.absenceSide, Place: w.under(p, m.Name, m.Name), Value: v, Member: m,
		Object: o, Name: m.Name,
	})
}

// protoMembers compares the members of a message in the order of the request.
func (w *walker) protoMembers(v Value, o *Object, p Place) {
	isSet := false
	for i, spelled := range v.Names() {
		m, value := o.byName[spelled], v.Items()[i]
		switch {
		case m == nil && o.IsOpen:
		case m == nil || m.hasBeta && !asksFor(w.betas, m.Betas):
			w.add(Fault{Kind: Unknown, Place: Place{w.paths.Member(p.At, spelled), p.Said}, Value: value, Object: o,
				Around: v, Name: spelled})
		case m.OneOf && isSet && !value.Is(tree.Null):
			w.add(Fault{Kind: SetTwice, Side: SimulatorOnly, Place: Place{w.paths.Member(p.At, spelled), p.Said},
				Value: value, Member: m, Name: spelled})
			from := len(w.Faults)
			w.member(value, m, w.under(p, spelled, m.proto))
			for i := range w.Faults[from:] {
				w.Faults[from+i].Side = RefereeOnly // the provider looks no further
			}
		default:
			isSet = isSet || m.OneOf && !value.Is(tree.Null)
			w.member(value, m, w.under(p, spelled, m.proto))
		}
	}
	for _, m := range o.Members {
		if m.Required && v.Any(m.Name, m.proto) == nil {
			w.addMissing(v, o, m, p)
		}
	}
}

// member compares a member that is there.
func (w *walker) member(v Value, m *Member, p Place) {
	f := Fault{Place: p, Value: v, Member: m, Name: m.Name}
	switch {
	case v.Is(tree.Null):
		if m.Required || m.NotNull {
			f.Kind, f.Rule, f.Side = Null, m.AbsenceRule, m.absenceSide
			w.add(f)
		}
		return
	case m.Required && m.absenceSide == Both &&
		(v.Is(tree.Array) && len(v.Items()) == 0 && m.side == Both || v.Is(tree.String) && v.Text() == "" && isName(m.Name)):
		f.Kind, f.Rule, f.Side = Empty, cmp.Or(m.Rule, m.AbsenceRule), RefereeOnly
		if f.IsUnverified = w.EmptyLists && v.Is(tree.Array); f.IsUnverified || v.Is(tree.String) ||
			strings.Count(p.At.String(), ".") <= 1 {
			w.add(f)
		}
	}
	w.value(v, m, p)
}

// isName reports whether a member names something, and so is never empty.
func isName(member string) bool {
	return member == "name" || member == "model" || member == "id" || strings.HasSuffix(member, "_id")
}

// value compares the value of a member, or an element.
func (w *walker) value(v Value, m *Member, p Place) {
	f := Fault{Kind: WrongType, Place: p, Value: v, Member: m, Name: m.Name}
	isElement := w.Proto && m.Element != nil && w.isOfType(v, m.Element.Types) // one value for a list
	if m.Types != "" && !isElement && !w.isOfType(v, m.Types) {
		if m.typeSide != Both {
			f.Rule, f.Side = m.Rule, m.typeSide
		} else if w.TypeIsPresence {
			f.Rule = m.AbsenceRule
		}
		w.add(f)
		return
	}
	if f.Kind = w.faultOf(v, m); f.Kind != WrongType {
		f.Rule, f.Side = m.Rule, m.side
		if f.Kind == WrongForm || f.Kind == WrongID || f.Kind == NotBase64 {
			f.Side = SimulatorOnly
		}
		w.add(f)
	}
	for i, e := range v.Items() {
		if m.Element == nil && (m.Object == "" || v.Is(tree.Object) && !m.ByName) {
			break
		}
		under := w.element(p, i)
		switch {
		case v.Is(tree.Object) && w.Proto:
			under = Place{w.paths.Member(p.At, v.Names()[i]), w.paths.Member(under.Said, "value")}
		case v.Is(tree.Object):
			under = w.under(p, v.Names()[i], v.Names()[i])
		}
		switch {
		case m.Element != nil:
			w.value(e, m.Element, under)
		case e.Is(tree.Object):
			w.object(e, m.Object, under)
		default:
			w.add(Fault{Kind: WrongType, Place: under, Value: e, Member: &Member{Types: "o", Object: m.Object}})
		}
	}
	if v.Is(tree.Object) && m.Object != "" && !m.ByName {
		w.object(v, m.Object, p)
	}
}

// faultOf returns what is wrong with a value of the right type, WrongType if nothing is.
func (w *walker) faultOf(v Value, m *Member) Kind {
	number, text := float64(len(v.Items())), v.Text()
	isOutside := func(n float64) bool { return m.Min != nil && n < *m.Min || m.Max != nil && n > *m.Max }
	switch {
	case v.Is(tree.String):
		isKnown := slices.Contains(m.Values, text) ||
			w.Proto && slices.Contains(m.Values, strings.ToUpper(strings.ReplaceAll(text, "-", "_")))
		switch {
		case m.Values != nil && !isKnown:
			return WrongValue
		case (m.Min != nil || m.Max != nil) && !strings.ContainsAny(m.Types, "ni") &&
			isOutside(float64(utf8.RuneCountInString(text))):
			return WrongLength
		case m.Pattern != nil && !m.Pattern.MatchString(text):
			return WrongForm
		case m.IsID && (!strings.HasPrefix(text, m.Begin) || strings.ContainsFunc(text, IsStrangeInID)):
			return WrongID
		case m.Types == "y":
			if _, ok := DecodeBase64(text); !ok {
				return NotBase64
			}
		case strings.ContainsAny(m.Types, "ni"):
			number, _ = strconv.ParseFloat(text, 64)
			if isOutside(number) {
				return OutOfRange
			}
		}
	case v.Is(tree.Number):
		if n, ok := v.Number(); ok && isOutside(n) {
			return OutOfRange
		}
	case v.Is(tree.Array|tree.Object) && !strings.Contains(m.Types, "s") && isOutside(number):
		return WrongLength
	}
	return WrongType
}

// IsStrangeInID reports whether ids do not have the character.
func IsStrangeInID(c rune) bool {
	return (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '_' && c != '-'
}

// DecodeBase64 takes both alphabets, with and without padding.
func DecodeBase64(s string) ([]byte, bool) {
	bare := strings.TrimRight(s, "=")
	if padding := len(s) - len(bare); padding > 0 && (padding > 2 || len(s)%4 != 0) {
		return nil, false
	}
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(bare, "-_") {
		encoding = base64.RawURLEncoding
	}
	out, err := encoding.DecodeString(bare)
	return out, err == nil
}

// isOfType reports whether a value is of one of some types.
func (w *walker) isOfType(v Value, types string) bool {
	has := func(letters string) bool { return strings.ContainsAny(types, letters) }
	switch {
	case v.Is(tree.String):
		number, err := strconv.ParseFloat(v.Text(), 64)
		return has("sye") || w.Proto && (err == nil && (has("n") || has("i") && number == float64(int64(number))) ||
			has("b") && (v.Text() == "true" || v.Text() == "false"))
	case v.Is(tree.Number):
		_, isWhole := v.Whole()
		return has("ne") || has("i") && isWhole && (!w.Integers || v.Is(tree.Integer))
	case v.Is(tree.Bool):
		return has("b")
	case v.Is(tree.Array):
		return has("a")
	}
	return v.Is(tree.Object) && has("ot")
}
