package gemini

import (
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/wires/tree"
)

// scalar is the type of a field's values.
type scalar uint8

const (
	aString scalar = iota
	aBytes
	aBool
	anInt
	aFloat
	anEnum
	aMessage
	aMap    // from strings to messages
	aStruct // any object
	anyValue
)

// typeNames are the names of scalars in errors.
var typeNames = map[scalar]string{aString: "TYPE_STRING", aBytes: "TYPE_BYTES", aBool: "TYPE_BOOL", anInt: "TYPE_INT32", aFloat: "TYPE_FLOAT"}

const typeURL = "type.googleapis.com/google.ai.generativelanguage.v1beta."

// field is one field of a message.
type field struct {
	name     string // in the proto, with underscores
	kind     scalar
	message  *message
	of       string   // the name of an enum or a message in errors
	values   []string // of an enum; nil takes any
	repeated bool
	oneof    bool // part of the message's only oneof, data
	vertex   bool // known to Vertex only
}

// message is a message type. Its fields are found under both spellings, that of
// the proto and that of JSON (reference §1.3).
type message struct{ fields map[string]*field }

func messageOf(fields ...field) *message {
	m := &message{fields: make(map[string]*field, 2*len(fields))}
	m.addFields(fields...)
	return m
}

func (m *message) addFields(fields ...field) {
	for i := range fields {
		f := &fields[i]
		m.fields[f.name], m.fields[camelCase(f.name)] = f, f
	}
}

// camelCase is the JSON spelling of a name.
func camelCase(name string) string {
	words := strings.Split(name, "_")
	for i := 1; i < len(words); i++ {
		if words[i] != "" {
			words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
		}
	}
	return strings.Join(words, "")
}

// violation is what the transcoder holds against one field.
type violation struct {
	rule  string
	field string // path of the message or the value, "" for the request itself
	text  string
}

// transcoder reads JSON as messages, as the API's front end does before any rule
// about contents: what it holds against a request is collected, not just the
// first.
type transcoder struct {
	vertex     bool
	violations []violation
	paths      tree.Paths
}

func (t *transcoder) addViolation(rule string, at *tree.Path, format string, args ...any) {
	t.violations = append(t.violations, violation{rule, at.String(), fmt.Sprintf(format, args...)})
}

// addUnknown is a member with no place in its message.
func (t *transcoder) addUnknown(rule, name string, at *tree.Path, why string) {
	where := ""
	if at != nil {
		where = fmt.Sprintf(" at '%s'", at)
	}
	t.addViolation(rule, at, "Invalid JSON payload received. Unknown name %q%s: %s", name, where, why)
}

func (t *transcoder) readMessage(n *tree.Node, m *message, at *tree.Path) {
	if m == nil {
		return // its fields are not ours to know
	}
	set := false
	for i, name := range n.Names() {
		f, v := m.fields[name], n.Items()[i]
		switch {
		case f == nil || f.vertex && !t.vertex:
			t.addUnknown(ruleOfUnknown(name, m), name, at, "Cannot find field.")
			continue
		case v.Is(tree.Null) && f.kind != anyValue:
			continue
		case f.oneof && set:
			t.addViolation("G-8", at, "Invalid value at '%s' (oneof), oneof field 'data' is already set. Cannot set '%s'", at, name)
			continue
		}
		set = set || f.oneof
		t.readField(v, f, name, at)
	}
}

// unknownField is G-3 for a name that none of our messages has. It may be newer than
// they are, so only strictness refuses it.
const unknownField = "G-3 unknown"

// ruleOfUnknown is what a member without a place breaks. A schema's keywords are
// all known, and so are names that belong into another message.
func ruleOfUnknown(name string, m *message) string {
	if m == theSchema || knownNames()[name] {
		return "G-3"
	}
	return unknownField
}

// knownNames are the names of all fields of all messages, in both spellings.
var knownNames = sync.OnceValue(func() map[string]bool {
	names, seen := map[string]bool{}, map[*message]bool{}
	var add func(m *message)
	add = func(m *message) {
		if m == nil || seen[m] {
			return
		}
		seen[m] = true
		for name, f := range m.fields {
			names[name] = true
			add(f.message)
		}
	}
	add(theRequest)
	add(theCount)
	return names
})

// readField reads one member of the message at at.
func (t *transcoder) readField(v *tree.Node, f *field, name string, at *tree.Path) {
	path := t.paths.Member(at, f.name)
	switch {
	case v.Is(tree.Array) && f.repeated:
		for i := range v.Items() {
			t.readValue(v.Items()[i], f, t.paths.Element(path, i))
		}
	case v.Is(tree.Array) && f.kind != anyValue:
		t.addUnknown(ruleOf(path), name, at, "Proto field is not repeating, cannot start list.")
	case v.Is(tree.Object) && f.kind < aMessage:
		t.addUnknown(ruleOf(path), name, at, "Starting an object on a scalar field.")
	default:
		t.readValue(v, f, path)
	}
}

// ruleOf is the rule for a value of the wrong type at path.
func ruleOf(at *tree.Path) string {
	switch path := at.String(); {
	case strings.HasSuffix(path, "function_response.response"):
		return "G-9"
	case strings.HasSuffix(path, ".thought_signature"):
		return "G-19"
	}
	return "G-3"
}

func (t *transcoder) readValue(v *tree.Node, f *field, path *tree.Path) {
	switch f.kind {
	case anyValue:
	case aMessage, aStruct, aMap:
		if !v.Is(tree.Object) {
			t.addInvalid(path, f.typeName(), v)
			return
		}
		t.readObject(v, f, path)
	case aBytes:
		if !v.Is(tree.String) {
			t.addInvalid(path, f.typeName(), v)
		} else if _, ok := decodeBase64(v.Text()); !ok {
			t.addViolation(ruleOf(path), path, "Invalid value at '%s' (TYPE_BYTES), Base64 decoding failed for %s", path, quoteJSON(v.Text()))
		}
	default:
		if !f.acceptsScalar(v) {
			t.addInvalid(path, f.typeName(), v)
		}
	}
}

func (t *transcoder) readObject(v *tree.Node, f *field, path *tree.Path) {
	switch f.kind {
	case aMessage:
		t.readMessage(v, f.message, path)
	case aMap:
		for i := range v.Items() {
			entry := t.paths.Element(path, i)
			t.readValue(v.Items()[i], &field{kind: aMessage, message: f.message, of: f.of}, t.paths.Member(entry, "value"))
		}
	default: // a struct takes any members
	}
}

func (t *transcoder) addInvalid(path *tree.Path, typeName string, v *tree.Node) {
	t.addViolation(ruleOf(path), path, "Invalid value at '%s' (%s), %s", path, typeName, quoteValue(v))
}

// quoteValue is a value as errors quote it: objects and arrays not at all.
func quoteValue(v *tree.Node) string {
	switch {
	case v.Is(tree.String):
		return quoteJSON(v.Text())
	case v.Is(tree.Object | tree.Array):
		return ""
	}
	return v.Raw()
}

func quoteJSON(s string) string { return `"` + s + `"` }

func (f *field) typeName() string {
	switch f.kind {
	case aStruct:
		return "type.googleapis.com/google.protobuf.Struct"
	case anEnum, aMessage, aMap:
		return typeURL + f.of
	default:
		return typeNames[f.kind]
	}
}

// acceptsScalar reports whether a scalar takes the value, with the leniency of proto
// JSON: numbers in strings, enums in lower case or as numbers.
func (f *field) acceptsScalar(v *tree.Node) bool {
	switch f.kind {
	case aString:
		return v.Is(tree.String)
	case aBool:
		return v.Is(tree.Bool) || v.Is(tree.String) && (v.Text() == "true" || v.Text() == "false")
	case anInt:
		x, ok := numberOf(v)
		return ok && x == math.Trunc(x)
	case aFloat:
		_, ok := numberOf(v)
		return ok
	default:
		return f.acceptsEnum(v)
	}
}

func (f *field) acceptsEnum(v *tree.Node) bool {
	if v.Is(tree.Number) {
		return true
	}
	if !v.Is(tree.String) || f.values == nil {
		return v.Is(tree.String)
	}
	name := enumName(v)
	for _, value := range f.values {
		if name == value {
			return true
		}
	}
	return false
}

// enumName is the name that a value means.
func enumName(v *tree.Node) string {
	return strings.ToUpper(strings.ReplaceAll(v.Text(), "-", "_"))
}

// decodeBase64 takes both alphabets, with and without padding.
func decodeBase64(s string) ([]byte, bool) {
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
