// Package event splits a recorded reply into the provider's events and folds
// them into what a reader wants to see: texts and arguments in one piece, ids
// and other opaque values by names that two recordings have in common.
//
// Start with [Of] and [Fold]:
//
//	names := event.NewNames() // one for each recording
//	for _, item := range event.Fold(event.Of(interaction), names) {
//		fmt.Println(item.Token(), item.Text)
//	}
//
// It is pure, accepts any bytes, and knows the providers only by the names of
// their fields: an event of an unknown kind is read like all others.
//
// # Drift
//
// [Compare] compares the shape of what a provider replied when it was recorded
// with the shape of what it replies now; [Changes] compares what was said:
//
//	pairs := []event.Pair{{Old: event.ReplyOf(recorded), New: event.ReplyOf(fresh)}}
//	for _, finding := range event.Compare(pairs) {
//		fmt.Println(finding.Severity, finding.Rule, finding.Event, finding.Path)
//	}
//
// The severities, by what a client that was written against the recordings
// would notice:
//
//   - Breaking: it may fail. A success became an error; the media type is
//     another; the stream lacks its terminal event; an event that every
//     recorded reply had is gone, or one that closes what another opens; a
//     field that was there every time, twice or more, is gone; a value is of
//     another JSON type; events come in an order that never occurred.
//   - Notable: it may behave otherwise. A new kind of event or block, or one
//     that did not occur this time; a value is null that never was; a field is
//     gone that was there the one time it could be, or that counts tokens;
//     another status, stop reason or way to end; a family of headers is gone.
//   - Cosmetic: it should not notice. A new field or header; a field that was
//     there only sometimes did not occur.
package event

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/llm"
)

// Event is one event of a stream, one element of a streamed JSON array, one line
// of NDJSON, or a whole document.
type Event struct {
	// Index counts the events of the reply from 0.
	Index int
	// At is when its last byte arrived, counted from the response header. It is 0
	// without a timeline.
	At time.Duration
	// Start and End are the event's offsets in the body, including its frame.
	Start, End int
	// Name is the event's type: the event field of an event stream, else the type
	// in the data; "" when there is none.
	Name string
	// Data is the content, mostly JSON, without the frame. It may share the
	// body's memory.
	Data []byte
	// Whole reports whether the event reached its end. The last event of a stream
	// that was cut did not.
	Whole bool
	// Last reports whether the provider ends the stream with this event
	// ([llm.IsTerminalEvent]).
	Last bool
}

// readEvents splits a reply body into events. The timeline may be empty; bytes that it does not
// cover arrived at its last time.
func readEvents(provider, contentType string, body []byte, timeline []cassette.Chunk) []Event {
	arrived := arrivalTimes(timeline)
	var list []Event
	for f := range llm.Frames(contentType, body) {
		if f.Data == nil {
			continue
		}
		list = append(list, Event{
			Index: len(list), At: arrived(f.End), Start: f.Start, End: f.End, Name: nameOf(f),
			Data: f.Data, Whole: f.Whole, Last: f.Whole && llm.IsTerminalEvent(provider, f.Data),
		})
	}
	return list
}

// Of returns the events of an interaction's reply, in order. Comments and blank lines between
// them are left out. It never fails: data that cannot be read is an event without a name.
func Of(in cassette.Interaction) []Event {
	return readEvents(Provider(in.Request), in.Response.Header.Get("Content-Type"), in.Response.Body, in.Timeline)
}

// arrivalTimes returns a function for when the body's first n bytes had arrived.
func arrivalTimes(timeline []cassette.Chunk) func(n int) time.Duration {
	ends := make([]int, len(timeline))
	sum := 0
	for i, c := range timeline {
		sum += c.Length
		ends[i] = sum
	}
	return func(n int) time.Duration {
		if len(timeline) == 0 {
			return 0
		}
		return timeline[min(sort.SearchInts(ends, n), len(timeline)-1)].At
	}
}

// done ends the streams of OpenAI's older API and of many gateways. It is not JSON, and means
// nothing to a client that knows the provider's own terminal event.
const done = "[DONE]"

func nameOf(f llm.Frame) string {
	if f.Name != "" {
		return f.Name
	}
	if string(bytes.TrimSpace(f.Data)) == done {
		return done
	}
	var says struct {
		Type   any             `json:"type"`
		Object any             `json:"object"`
		Error  json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(f.Data, &says) // what is not a JSON object has no name
	if name, ok := says.Type.(string); ok && name != "" {
		return name
	}
	if name, ok := says.Object.(string); ok && name != "" {
		return name
	}
	if len(says.Error) > 0 {
		return "error"
	}
	return ""
}

// Part is what an event says about one thing. Most events have one part; a whole
// message has one for each of its blocks and one for itself, and so has a Gemini
// chunk.
type Part struct {
	// Name is the event's, or "block" or "part" for a piece of a whole message.
	Name string
	// Type says what the part is about in the provider's words: thinking,
	// text_delta, function_call; "" when it does not say.
	Type string
	// Place identifies the block among its siblings, "0" or "1.0"; "" when the
	// part is about the whole reply.
	Place string
	// Nodes are the values with paths relative to the part, without the place.
	Nodes []Node
}

// Token returns the name and the type. Parts with the same token have the same
// shape.
func (p Part) Token() string {
	if p.Type == "" {
		return p.Name
	}
	return p.Name + "/" + p.Type
}

// block matches an element of an array that holds what a whole reply says.
var block = regexp.MustCompile(`^(?:(?:content|output)\[(\d+)\]|candidates\[(\d+)\]\.content\.parts\[\d+\])`)

// chunkName is the name of an event whose provider gives it none.
const chunkName = "chunk"

// Parts splits an event: first its blocks, then the rest.
func (e Event) Parts() []Part {
	own := Part{Name: e.Name}
	if own.Name == "" {
		own.Name = chunkName
	}
	var blocks []Part
	root := ""
	for _, node := range Nodes(e.Data) {
		at := block.FindStringSubmatch(node.Path)
		if at == nil {
			own.Nodes = append(own.Nodes, node)
			continue
		}
		if at[0] != root {
			root = at[0]
			blocks = append(blocks, newBlock(at))
		}
		node.Path = strings.TrimPrefix(strings.TrimPrefix(node.Path, root), ".")
		last := &blocks[len(blocks)-1]
		last.Nodes = append(last.Nodes, node)
	}
	for i := range blocks {
		blocks[i].Type = blocks[i].blockType()
	}
	own.takeTypeAndPlace()
	return append(blocks, own)
}

// newBlock returns the part that a match of block begins. Gemini's parts have no
// index that holds beyond their chunk; only the index of their candidate does.
func newBlock(at []string) Part {
	switch {
	case at[1] != "":
		return Part{Name: "block", Place: at[1]}
	case at[2] != "0":
		return Part{Name: "part", Place: at[2]}
	}
	return Part{Name: "part"}
}

// blockType returns the type of a block. A Gemini part shows it by the name of
// its member.
func (p Part) blockType() string {
	kind := ""
	for _, n := range p.Nodes {
		switch {
		case n.Path == "type":
			return n.Text()
		case n.Path == "thought" && n.Kind == 't':
			return "thought"
		case kind == "" && n.Path != "" && !strings.Contains(n.Path, ".") && n.Key() != "thoughtSignature":
			kind = n.Key()
		}
	}
	return kind
}

// described are the members whose type says what an event is about.
var described = []string{"content_block.type", "delta.type", "item.type", "part.type", "annotation.type", "error.type"}

// takeTypeAndPlace moves type and place from the nodes to the part.
func (p *Part) takeTypeAndPlace() {
	var types []string
	place := make([]string, len(places))
	rest := p.Nodes[:0]
	for _, n := range p.Nodes {
		switch i := slices.Index(places, n.Path); {
		case i >= 0 && n.Kind == '0':
			place[i] = string(n.Raw)
			continue
		case slices.Contains(described, n.Path) && n.Kind == '"':
			types = append(types, n.Text())
		}
		rest = append(rest, n)
	}
	place = slices.DeleteFunc(place, func(s string) bool { return s == "" })
	p.Nodes, p.Type, p.Place = rest, strings.Join(types, "+"), strings.Join(place, ".")
}

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
			jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false),
			jsontext.PreserveRawStrings(true))
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
