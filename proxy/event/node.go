package event

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Node is one value inside a JSON document.
type Node struct {
	// Path leads to it: names joined by dots, indexes in brackets, "" for the
	// document.
	Path string
	// Kind is the JSON kind: one of n t f " 0 { [, as in jsontext.Kind.
	Kind jsontext.Kind
	// Raw is the JSON of a leaf: a string, number, literal, empty object or
	// array, or a value whose shape is not the provider's (see free). It is nil
	// for other values.
	Raw []byte
}

// Key returns the last name of the path, without brackets.
func (n Node) Key() string { return keyOf(n.Path) }

// Leaf reports whether the node stands for everything below it.
func (n Node) Leaf() bool { return n.Raw != nil }

// Text returns a string's value, and the JSON of any other leaf.
func (n Node) Text() string {
	if n.Kind != '"' {
		return string(n.Raw)
	}
	if text, err := jsontext.AppendUnquote(nil, n.Raw); err == nil || len(text) > 0 {
		return string(text)
	}
	return string(n.Raw)
}

// free are the keys of values whose shape is not the provider's: arguments of
// tools and their schemas, labels. Such a value is one leaf.
var free = map[string]bool{
	"args": true, "input": true, "parameters": true, "input_schema": true, "schema": true, "json_schema": true,
	"responseSchema": true, "responseJsonSchema": true, "parametersJsonSchema": true, "metadata": true, "labels": true,
}

// isFree excludes the input of an OpenAI request, which holds its messages.
func isFree(path string) bool {
	messages := strings.HasPrefix(path, "input") && !strings.Contains(path, ".")
	return free[keyOf(path)] && !messages
}

// Nodes lists the values of a JSON document in the order in which they are
// written, each object and array before its content. Of invalid JSON it lists
// what comes before the error.
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

// maxDepth is deeper than any provider nests. What is below is one leaf.
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

func keyOf(path string) string {
	path = path[strings.LastIndexByte(path, '.')+1:]
	key, _, _ := strings.Cut(path, "[")
	return key
}
