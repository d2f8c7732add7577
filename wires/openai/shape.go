package openai

import (
	"regexp"
	"slices"

	"github.com/meerkat-go/conformance/wires/tree"
)

// shape says what may stand in one place of a request (rules O-3 to O-8,
// O-16). The zero shape takes anything.
type shape struct {
	kinds tree.Kind
	// enum lists the strings that are taken; nil takes any.
	enum []string
	// least and most bound a number, a string's characters or an array's
	// elements; unbounded when most is 0.
	least, most float64
	// begin is what an id begins with (rule O-8); "" takes any string.
	begin string
	// pattern is what a name must match (rule O-18).
	pattern *regexp.Regexp
	// fields are an object's members in the order they are checked; open takes
	// others too, members is then the shape of each.
	fields  []field
	open    bool
	members *shape
	// elem is the shape of each element of an array.
	elem *shape
	// variants are the shapes of objects that name their own, pick says which
	// it is; unknownVariant is what an unknown name breaks.
	variants       []variant
	pick           func(*tree.Node) string
	unknownVariant breachKind
}

type field struct {
	name string
	must bool
	shape
}

type variant struct {
	name string
	shape
}

func (s *shape) fieldNamed(name string) *field {
	i := slices.IndexFunc(s.fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return &s.fields[i]
}

func (s *shape) variantNamed(name string) *shape {
	i := slices.IndexFunc(s.variants, func(v variant) bool { return v.name == name })
	if i < 0 {
		return nil
	}
	return &s.variants[i].shape
}

// The builders of schema.go. opt and must make members, the others shapes.

func opt(name string, s shape) field  { return field{name, false, orNull(s)} }
func must(name string, s shape) field { return field{name, true, s} }

// orNull takes a null too: the API does where a member may be absent.
func orNull(s shape) shape {
	if s.kinds != 0 {
		s.kinds |= tree.Null
	}
	return s
}

// nonNull is opt for the few members whose null is refused.
func nonNull(name string, s shape) field { return field{name, false, s} }

func obj(fields ...field) shape           { return shape{kinds: tree.Object, fields: fields} }
func list(elem shape) shape               { return shape{kinds: tree.Array, elem: &elem} }
func atMost(n float64, s shape) shape     { s.most = n; return s }
func between(a, b float64, s shape) shape { s.least, s.most = a, b; return s }
func enum(values ...string) shape         { return shape{kinds: tree.String, enum: values} }
func mapOf(s shape) shape                 { return shape{kinds: tree.Object, open: true, members: &s} }

// orText takes a text too.
func orText(s shape) shape { s.kinds |= tree.String; return s }

var (
	str       = shape{kinds: tree.String}
	flag      = shape{kinds: tree.Bool}
	whole     = shape{kinds: tree.Integer}
	fraction  = shape{kinds: tree.Number}
	freeform  = shape{kinds: tree.Object, open: true}
	callIDs   = between(1, 64, str)
	toolNames = shape{kinds: tree.String, least: 1, most: 128, pattern: regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)}
)

// idShape is an item's own id.
func idShape(begin string) shape { return shape{kinds: tree.String, begin: begin} }

// plainFields are optional members of any kind: their names are known, their values
// are another tool's business.
func plainFields(names ...string) []field {
	fields := make([]field, len(names))
	for i, name := range names {
		fields[i] = field{name: name}
	}
	return fields
}

// byType is an object that names its variant in type.
func byType(variants ...variant) shape {
	for i := range variants {
		if variants[i].fieldNamed("type") == nil {
			variants[i].fields = append([]field{must("type", str)}, variants[i].fields...)
		}
	}
	return shape{kinds: tree.Object, variants: variants, pick: func(v *tree.Node) string { return v.Get("type").Text() }, unknownVariant: breachValue}
}

func variantOf(name string, fields ...field) variant { return variant{name, obj(fields...)} }
