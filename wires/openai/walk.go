package openai

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// breach is one place in which a request breaks the schema.
type breach struct {
	kind breachKind
	*rule.Refusal
}

// breachKind says how; each kind is a rule of shapeRules.
type breachKind uint8

const (
	breachCore breachKind = iota
	breachMissing
	breachUnknown
	breachType
	breachValue
	breachRange
	breachLength
	breachID
	breachPart
	breachName
)

// maxBreaches is how many breaches are collected: more only matter to someone
// who has switched nearly every rule off.
const maxBreaches = 64

// walk collects the breaches of v against s in the order of the schema.
type walk struct {
	breaches []breach
	paths    tree.Paths
}

func (w *walk) addBreach(k breachKind, r *rule.Refusal) {
	if len(w.breaches) < maxBreaches {
		w.breaches = append(w.breaches, breach{k, r})
	}
}

// checkRequest checks a whole body against its shape. What it is about comes first: without a stored
// prompt it needs a model, without anything that holds the conversation an
// input (rule O-3).
func (w *walk) checkRequest(s *shape, v *tree.Node) {
	prompt := v.Has("prompt")
	if !prompt && !v.Has("model") {
		w.addBreach(breachCore, missingParameter(w.paths.Member(nil, "model")))
	}
	if !prompt && !v.Has("input") && !v.Has("previous_response_id") && !v.Has("conversation") {
		w.addBreach(breachCore, missingParameter(w.paths.Member(nil, "input")))
	}
	w.checkObject(nil, s, v)
}

func (w *walk) checkValue(p *tree.Path, s *shape, v *tree.Node) {
	switch {
	case s.kinds == 0 || v.Is(tree.Null) && s.kinds&tree.Null != 0:
	case !v.Is(s.kinds):
		w.addBreach(breachType, wrongType(p, s, v))
	case v.Is(tree.String):
		w.checkText(p, s, v.Text())
	case v.Is(tree.Number):
		w.checkNumber(p, s, v)
	case v.Is(tree.Array):
		w.checkArray(p, s, v)
	case v.Is(tree.Object):
		w.checkObject(p, s, v)
	}
}

func (w *walk) checkText(p *tree.Path, s *shape, t string) {
	length := float64(len(t))
	if length > s.most { // only then can the characters be too many
		length = float64(utf8.RuneCountInString(t))
	}
	switch {
	case s.enum != nil && !slices.Contains(s.enum, t):
		w.addBreach(breachValue, unsupportedValue(p, t, s.enum))
	case s.most > 0 && length < s.least:
		w.addBreach(breachLength, emptyString(p))
	case s.most > 0 && length > s.most:
		w.addBreach(breachLength, tooLong(p, int(s.most), int(length)))
	case s.pattern != nil && !s.pattern.MatchString(t):
		w.addBreach(breachName, patternMismatch(p, s.pattern))
	case s.begin != "":
		w.checkID(p, s.begin, t)
	}
}

// maxID is how long an item's id may be (rule O-8).
const maxID = 64

func (w *walk) checkID(p *tree.Path, begin, id string) {
	switch {
	case len(id) > maxID:
		w.addBreach(breachLength, tooLong(p, maxID, utf8.RuneCountInString(id)))
	case !idCharacters(id):
		w.addBreach(breachID, strangeID(p, id))
	case len(id) < len(begin) || id[:len(begin)] != begin:
		w.addBreach(breachID, foreignID(p, id, begin))
	}
}

func idCharacters(id string) bool {
	for _, c := range []byte(id) {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func (w *walk) checkNumber(p *tree.Path, s *shape, v *tree.Node) {
	if s.most == 0 {
		return
	}
	switch n, _ := v.Number(); {
	case n < s.least:
		w.addBreach(breachRange, belowMinimum(p, s, v))
	case n > s.most && s.most < math.MaxInt32:
		w.addBreach(breachRange, aboveMaximum(p, s, v))
	}
}

func (w *walk) checkArray(p *tree.Path, s *shape, v *tree.Node) {
	if s.kinds&tree.String == 0 && s.most > 0 && len(v.Items()) > int(s.most) {
		w.addBreach(breachLength, arrayTooLong(p, int(s.most), len(v.Items())))
	}
	if s.elem == nil {
		return
	}
	for i := range v.Items() {
		w.checkValue(w.paths.Element(p, i), s.elem, v.Items()[i])
	}
}

func (w *walk) checkObject(p *tree.Path, s *shape, v *tree.Node) {
	if s.variants != nil {
		if s = w.resolveVariant(p, s, v); s == nil {
			return
		}
	}
	if s.most > 0 && len(v.Items()) > int(s.most) {
		w.addBreach(breachLength, tooManyProperties(p, int(s.most), len(v.Items())))
	}
	w.checkFields(p, s, v)
	for i, name := range v.Names() {
		switch {
		case s.open && s.members != nil:
			w.checkValue(w.paths.Member(p, name), s.members, v.Items()[i])
		case !s.open && s.fieldNamed(name) == nil:
			w.addBreach(breachUnknown, unknownParameter(w.paths.Member(p, name)))
		}
	}
}

// resolveVariant picks the variant that an object says it is.
func (w *walk) resolveVariant(p *tree.Path, s *shape, v *tree.Node) *shape {
	name := s.pick(v)
	if name == "" {
		w.addBreach(breachMissing, missingParameter(w.paths.Member(p, "type")))
		return nil
	}
	if found := s.variantNamed(name); found != nil {
		return found
	}
	w.addBreach(s.unknownVariant, unsupportedValue(p, name, s.variantNames()))
	return nil
}

// variantNames are the types that the wire knows.
func (s *shape) variantNames() []string {
	var names []string
	for i := range s.variants {
		if name := s.variants[i].name; name != inputMessage && name != outputMessage && name != futureItem {
			names = append(names, name)
		}
	}
	return names
}

func (w *walk) checkFields(p *tree.Path, s *shape, v *tree.Node) {
	for i := range s.fields {
		f := &s.fields[i]
		switch m := v.Get(f.name); {
		case m != nil:
			w.checkValue(w.paths.Member(p, f.name), &f.shape, m)
		case f.must:
			w.addBreach(breachMissing, missingParameter(w.paths.Member(p, f.name)))
		}
	}
}
