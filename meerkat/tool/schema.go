package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/xeipuuv/gojsonschema"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Schema checks the arguments of a tool. It knows draft-07. Of newer drafts it
// checks what they share with it, and what it cannot check it lets pass:
// references to anything but a place in the same schema, patterns that Go's
// regular expressions do not have, keywords it does not know. It never opens a
// file or a connection. A nil Schema lets every JSON object pass.
type Schema struct {
	check   *gojsonschema.Schema // nil: nothing to check
	members string               // what the tool takes, in words
}

// Compile reads a tool's input schema. It refuses what is not a JSON object, a
// schema of anything but objects, keywords with values of the wrong type, and
// references that run in circles; providers refuse a whole request for one such
// schema. Its errors go on from "the input schema …".
func Compile(schema transcript.RawJSON) (*Schema, error) {
	if !jsontok.IsObject(schema) {
		return nil, errors.New("is not a JSON object")
	}
	root, err := decodeObject(schema)
	if err != nil {
		return nil, err
	}
	if kind, ok := root["type"]; ok && kind != "object" {
		return nil, fmt.Errorf(`describes %s, and arguments are an object: set "type": "object"`, showJSON(kind))
	}
	takes := describeMembers(root)
	checkable, err := makePortable(root)
	if err != nil || !checkable {
		return &Schema{members: takes}, err
	}
	check, err := compileSchema(root)
	if err != nil {
		return nil, err
	}
	return &Schema{check: check, members: takes}, nil
}

func decodeObject(value []byte) (map[string]any, error) {
	dec := json.NewDecoder(strings.NewReader(string(value)))
	dec.UseNumber()
	var root map[string]any
	if err := dec.Decode(&root); err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	return root, nil
}

// compileSchema returns an error if the library panics on a schema.
func compileSchema(root map[string]any) (check *gojsonschema.Schema, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot be compiled: %v", p)
		}
	}()
	loader := gojsonschema.NewSchemaLoader()
	loader.Draft, loader.AutoDetect = gojsonschema.Hybrid, false
	if check, err = loader.Compile(gojsonschema.NewGoLoader(root)); err != nil {
		return nil, fmt.Errorf("is not a valid JSON Schema: %w", err)
	}
	return check, nil
}

// RejectCall answers a call whose arguments do not fit: what is wrong, and what the
// tool takes. It answers nothing when they fit.
func (s *Schema) RejectCall(call transcript.ToolCall) (result transcript.ToolResult, refused bool) {
	if problem := argsProblem(call.Args); problem != "" {
		return errorResult(call.ID, "tool %s was not executed: its arguments %s", call.Name, problem), true
	}
	if s == nil || s.check == nil {
		return transcript.ToolResult{}, false
	}
	problems, err := s.findProblems(call.Args)
	switch {
	case err != nil:
		return errorResult(
			call.ID, "tool %s was not executed: its arguments cannot be checked: %v", call.Name, err,
		), true
	case problems != "":
		return errorResult(
			call.ID, "tool %s was not executed: its arguments do not fit: %s. It takes %s", call.Name, problems,
			s.members,
		), true
	}
	return transcript.ToolResult{}, false
}

// maxProblems is the number of violations that one answer lists.
const maxProblems = 8

func (s *Schema) findProblems(args []byte) (text string, err error) {
	defer func() {
		if p := recover(); p != nil { // the library's, on numbers such as 1e9999999
			err = fmt.Errorf("%v", p)
		}
	}()
	result, err := s.check.Validate(gojsonschema.NewBytesLoader(args))
	if err != nil || result.Valid() {
		return "", err
	}
	var list []string
	for _, e := range result.Errors() {
		list = append(list, strings.TrimPrefix(clipText(e.String()), "(root): "))
	}
	slices.Sort(list) // the library walks maps
	list = slices.Compact(list)
	if more := len(list) - maxProblems; more > 0 {
		list = append(list[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, "; "), nil
}

// clipText keeps a violation from repeating a huge value.
func clipText(s string) string {
	if len(s) <= 300 {
		return s
	}
	return s[:runeStart(s, 300)] + "…"
}

// describeMembers says which members a tool takes: "a (number, required), b (string)".
func describeMembers(root map[string]any) string {
	members, _ := root["properties"].(map[string]any)
	var required []string
	if list, ok := root["required"].([]any); ok {
		for _, name := range list {
			required = append(required, fmt.Sprint(name))
		}
	}
	var out []string
	for name, member := range members {
		out = append(out, name+describeMember(member, slices.Contains(required, name)))
	}
	if out == nil {
		return "what its input schema says"
	}
	slices.Sort(out)
	return clipText(strings.Join(out, ", "))
}

func describeMember(member any, required bool) string {
	var words []string
	if m, ok := member.(map[string]any); ok && m["type"] != nil {
		words = append(words, strings.Trim(showJSON(m["type"]), `"`))
	}
	if required {
		words = append(words, "required")
	}
	if words == nil {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

func showJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
