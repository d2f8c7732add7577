package gemini

import (
	"cmp"
	_ "embed" // for members.yaml
	"fmt"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/tree"
)

//go:embed members.yaml
var memberFile string

// Members describes the members of requests; the root is "request", of a count "count".
var Members = sync.OnceValue(func() *members.Description {
	return members.Parse(memberFile, members.Style{Proto: true, Rules: map[members.Kind]string{
		members.Unknown: "G-3", members.Missing: "G-7", members.Null: "G-7", members.Empty: "G-7",
		members.WrongType:  "G-3",
		members.WrongValue: "G-3", members.OutOfRange: "G-28", members.WrongLength: "G-28", members.SetTwice: "G-8",
		members.NotBase64: "G-3",
	}})
})

// violation is what the transcoder holds against one field.
type violation struct {
	rule  string
	field string // path of the message or the value, "" for the request itself
	text  string
}

// unknownField is G-3 for a name that none of our messages has. It may be newer than
// they are, so only strictness refuses it.
const unknownField = "G-3 unknown"

const typeURL = "type.googleapis.com/google.ai.generativelanguage.v1beta."

// transcode reads the body as messages, as the API's front end does before any rule about
// contents: what it holds against a request is collected, not just the first.
func (q *request) transcode() (violations []violation) {
	root, knows := "request", []string{"simulator"}
	if q.method == count {
		root = "count"
	}
	if q.vertex {
		knows = append(knows, "vertex")
	}
	for _, f := range Members().Walk(q.body, root, knows).Faults {
		if v := violationOf(f); f.Side != members.RefereeOnly && v.text != "" {
			violations = append(violations, v)
		}
	}
	return violations
}

// knownNames are the names of all members, in both spellings.
var knownNames = sync.OnceValue(func() map[string]bool { return Members().Names() })

// violationOf puts a fault into the transcoder's words, none for one that the transcoder does
// not look at. A schema's keywords are all known, and so are names that belong into another message.
func violationOf(f members.Fault) violation {
	path := f.Said.String()
	unknown := func(rule, name, at, why string) violation {
		where := ""
		if at != "" {
			where = fmt.Sprintf(" at '%s'", at)
		}
		return violation{rule, at, fmt.Sprintf("Invalid JSON payload received. Unknown name %q%s: %s", name,
			where, why)}
	}
	around := path[:max(0, strings.LastIndexByte(path, '.'))]
	isMember := f.Member != nil && f.Member.Name != ""
	switch f.Kind {
	case members.Unknown:
		rule := unknownField
		if f.Object == Members().Find("schema", "") || knownNames()[f.Name] {
			rule = "G-3"
		}
		return unknown(rule, f.Name, path, "Cannot find field.")
	case members.SetTwice:
		return violation{"G-8", path,
			fmt.Sprintf("Invalid value at '%s' (oneof), oneof field 'data' is already set. Cannot set '%s'",
				path, f.Name)}
	case members.NotBase64:
		return violation{ruleOf(path), path,
			fmt.Sprintf("Invalid value at '%s' (TYPE_BYTES), Base64 decoding failed for %s", path,
				quoteJSON(f.Value.Text()))}
	case members.WrongType, members.WrongValue:
		switch {
		case isMember && f.Value.Is(tree.Array):
			return unknown(ruleOf(path), f.At.Name(), around, "Proto field is not repeating, cannot start list.")
		case isMember && f.Value.Is(tree.Object):
			return unknown(ruleOf(path), f.At.Name(), around, "Starting an object on a scalar field.")
		}
		return violation{ruleOf(path), path,
			fmt.Sprintf("Invalid value at '%s' (%s), %s", path, typeName(f.Member), quoteValue(f.Value))}
	default:
		return violation{}
	}
}

// ruleOf is the rule for a value of the wrong type at path.
func ruleOf(path string) string {
	switch {
	case strings.HasSuffix(path, "function_response.response"):
		return "G-9"
	case strings.HasSuffix(path, ".thought_signature"):
		return "G-19"
	}
	return "G-3"
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

// typeName is the name of a type in errors.
func typeName(m *members.Member) string {
	if m.Element != nil {
		m = m.Element
	}
	switch types := strings.TrimPrefix(m.Types, "a"); {
	case types == "t":
		return "type.googleapis.com/google.protobuf.Struct"
	case types == "e" || types == "o" && m.Object == "":
		return typeURL + m.Enum
	case types == "o":
		return typeURL + cmp.Or(m.Enum, strings.ToUpper(m.Object[:1])+m.Object[1:])
	default:
		return map[string]string{"s": "TYPE_STRING", "y": "TYPE_BYTES", "b": "TYPE_BOOL", "i": "TYPE_INT32",
			"n": "TYPE_FLOAT"}[types]
	}
}

// enumName is the name that a value means.
func enumName(v *tree.Node) string {
	return strings.ToUpper(strings.ReplaceAll(v.Text(), "-", "_"))
}
