package event

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Node is one value inside a JSON document.
type Node struct {
	// Path leads to it: names joined by dots, elements in brackets, "" for the
	// document.
	Path string
	// Kind is the JSON kind: one of n t f " 0 { [ as jsontext.Kind has it.
	Kind jsontext.Kind
	// Raw is its text for a leaf: a string, number, literal, an empty object or
	// array, or a value of a shape of its own (see free). Nil for the others.
	Raw []byte
}

// Key is the last name of the path, without brackets.
func (n Node) Key() string { return keyOf(n.Path) }

// Leaf reports whether the node stands for all that is below it.
func (n Node) Leaf() bool { return n.Raw != nil }

// Text is a string's value, and any other leaf's JSON.
func (n Node) Text() string {
	if n.Kind != '"' {
		return string(n.Raw)
	}
	if text, err := jsontext.AppendUnquote(nil, n.Raw); err == nil || len(text) > 0 {
		return string(text)
	}
	return string(n.Raw)
}

// free are the keys below which the shape is not the provider's: arguments of
// tools and their schemas, labels. Such a value is one leaf.
var free = map[string]bool{
	"args": true, "input": true, "parameters": true, "input_schema": true, "schema": true, "json_schema": true,
	"responseSchema": true, "responseJsonSchema": true, "parametersJsonSchema": true, "metadata": true, "labels": true,
}

// isFree leaves out the input of an OpenAI request: its messages.
func isFree(path string) bool {
	messages := strings.HasPrefix(path, "input") && !strings.Contains(path, ".")
	return free[keyOf(path)] && !messages
}

// Nodes lists the values of a JSON document in the order they are written,
// each object and array before what it holds. Of what is no JSON it lists what
// stands before the mistake; nil when nothing does.
func Nodes(data []byte) []Node {
	w := walker{d: jsontext.NewDecoder(bytes.NewReader(data),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	w.walkValue("", 0)
	return w.nodes
}

type walker struct {
	d     *jsontext.Decoder
	nodes []Node
}

// maxDepth is deeper than any provider nests; what is below is one leaf.
const maxDepth = 64

// walkValue reads one value and reports whether there was one.
func (w *walker) walkValue(path string, depth int) bool {
	kind := w.d.PeekKind()
	if nested := kind == '{' || kind == '['; !nested || depth == maxDepth || isFree(path) {
		return w.walkLeaf(path)
	}
	if _, err := w.d.ReadToken(); err != nil {
		return false
	}
	at := len(w.nodes)
	w.nodes = append(w.nodes, Node{Path: path, Kind: kind})
	for n := 0; w.d.PeekKind() != '}' && w.d.PeekKind() != ']'; n++ {
		if !w.walkMember(path, kind, n, depth) {
			return false
		}
	}
	if len(w.nodes) == at+1 {
		w.nodes[at].Raw = []byte{byte(kind), byte(kind) + 2} // {} or []: the closing bracket's code is two further on
	}
	_, err := w.d.ReadToken()
	return err == nil
}

func (w *walker) walkLeaf(path string) bool {
	raw, err := w.d.ReadValue()
	if err != nil {
		return false
	}
	v := bytes.Clone(raw)
	if kind := jsontext.Value(v).Kind(); kind == '{' || kind == '[' {
		_ = (*jsontext.Value)(&v).Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
			jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false), jsontext.PreserveRawStrings(true))
	}
	w.nodes = append(w.nodes, Node{Path: path, Kind: jsontext.Value(v).Kind(), Raw: v})
	return true
}

func (w *walker) walkMember(path string, kind jsontext.Kind, n, depth int) bool {
	if kind == '[' {
		return w.walkValue(path+"["+strconv.Itoa(n)+"]", depth+1)
	}
	name, err := w.d.ReadToken()
	if err != nil {
		return false
	}
	if path != "" {
		path += "."
	}
	return w.walkValue(path+name.String(), depth+1)
}

var ordinal = regexp.MustCompile(`\[\d+\]`)

// General is a path without the elements' numbers: what all of an array's
// elements have in common.
func General(path string) string {
	if !strings.Contains(path, "[") {
		return path
	}
	return ordinal.ReplaceAllString(path, "[]")
}

func keyOf(path string) string {
	path = path[strings.LastIndexByte(path, '.')+1:]
	key, _, _ := strings.Cut(path, "[")
	return key
}
