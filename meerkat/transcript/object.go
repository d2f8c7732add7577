package transcript

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
)

// object holds the members of one JSON object in their order while a decoder
// takes what it knows; the rest belongs to a newer writer. The first error
// sticks.
type object struct {
	members []member
	err     error
	few     [10]member // holds the members of most objects without an allocation
}

type member struct {
	name  []byte
	value []byte // JSON without space around it, sharing the input
	taken bool
}

// open splits data into the members of o.
func (o *object) open(data []byte) {
	o.members = o.few[:0]
	err := jsontok.Fields(data, func(name, value []byte) error {
		o.members = append(o.members, member{name: name, value: value})
		return nil
	})
	if err != nil {
		o.err = fmt.Errorf("want an object, have %.40q: %w", data, err)
	}
}

func (o *object) fail(name, problem string) {
	if o.err == nil {
		o.err = fmt.Errorf("%s: %s", name, problem)
	}
}

// hasName reports whether the member has the name that both parts make.
func (m *member) hasName(name, suffix string) bool {
	n := len(name)
	return len(m.name) == n+len(suffix) && string(m.name[:n]) == name && string(m.name[n:]) == suffix
}

// findLast returns the last member of that name, nil if there is none.
func (o *object) findLast(name string) []byte { return o.findMember(name, "") }

func (o *object) findMember(name, suffix string) []byte {
	var value []byte
	for i := range o.members {
		if m := &o.members[i]; m.hasName(name, suffix) {
			m.taken, value = true, m.value
		}
	}
	return value
}

// takeValue is last with null for absent, as serde reads an Option.
func (o *object) takeValue(name string) []byte { return nonNull(o.findLast(name)) }

func nonNull(value []byte) []byte {
	if string(value) == "null" {
		return nil
	}
	return value
}

// takeString returns a string that must be there.
func (o *object) takeString(name string) string {
	s, ok := o.takeOptionalString(name)
	if !ok {
		o.fail(name, "missing")
	}
	return s
}

// takeTag returns a string that must be there and say something.
func (o *object) takeTag(name string) string {
	s := o.takeString(name)
	if s == "" {
		o.fail(name, "empty")
	}
	return s
}

func (o *object) takeOptionalString(name string) (string, bool) {
	value, exact := o.takeValue(name), o.takeExact(name)
	if value == nil {
		return "", false
	}
	if value[0] != '"' {
		o.fail(name, "want a string")
		return "", false
	}
	s := jsontok.String(value)
	if exact != nil && sameText(string(exact), s) {
		return string(exact), true
	}
	return s, true
}

// takeBytes returns decoded base64, nil if the member is absent.
func (o *object) takeBytes(name string) []byte { return o.decodeBase64(name, "") }

// takeExact returns the bytes that a member's twin holds.
func (o *object) takeExact(name string) []byte { return o.decodeBase64(name, exactSuffix) }

func (o *object) decodeBase64(name, suffix string) []byte {
	value := nonNull(o.findMember(name, suffix))
	if value == nil {
		return nil
	}
	out, err := base64.StdEncoding.DecodeString(jsontok.String(value))
	if err != nil || value[0] != '"' {
		o.fail(name+suffix, "want base64")
	}
	return out
}

// takeJSON returns the bytes of a value as they were first written, nil if absent.
func (o *object) takeJSON(name string) []byte {
	value, exact := o.findLast(name), o.takeExact(name)
	if value != nil && exact != nil && sameJSON(readableJSON(exact), readableJSON(value)) {
		return exact
	}
	return bytes.Clone(value)
}

func (o *object) takeBool(name string) bool {
	switch value := o.takeValue(name); string(value) {
	case "true":
		return true
	case "", "false":
	default:
		o.fail(name, "want true or false")
	}
	return false
}

func (o *object) takeInt(name string) int {
	value := o.takeValue(name)
	if value == nil {
		return 0
	}
	n, err := strconv.Atoi(string(value))
	if err != nil {
		o.fail(name, "want a whole number")
	}
	return n
}

// splitList returns the elements of an array, nil if absent.
func (o *object) splitList(name string) [][]byte {
	value := o.takeValue(name)
	if value == nil {
		return nil
	}
	out := [][]byte{}
	err := jsontok.Elements(value, func(element []byte) error {
		out = append(out, element)
		return nil
	})
	if err != nil {
		o.fail(name, "want an array")
		return nil
	}
	return out
}

// untakenMembers returns the members nobody took as one compact JSON object, "" if none.
func (o *object) untakenMembers() string {
	out := []byte{'{'}
	for _, m := range o.members {
		if m.taken {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(jsontok.AppendQuoted(out, m.name), ':')
		out = append(out, compactJSON(m.value)...)
	}
	if len(out) == 1 {
		return ""
	}
	return string(append(out, '}'))
}

func compactJSON(value []byte) []byte {
	var flat bytes.Buffer
	if json.Compact(&flat, value) != nil {
		return value
	}
	return flat.Bytes()
}
