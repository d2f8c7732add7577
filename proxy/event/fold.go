package event

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/proxy/redact"
)

// Item is what one or more events of a reply say. A text that came in pieces is
// one Item.
type Item struct {
	Part
	// First and Last are the indexes of its first and last event, Events is their
	// number, Bytes their total length including frames, At and Until when the
	// first and the last arrived.
	First, Last, Events, Bytes int
	At, Until                  time.Duration
	// Text is what the pieces say together, Class is Plain or Opaque. Pieces is
	// false when the item has no text.
	Text   string
	Class  Class
	Pieces bool
	// Fields are the other values.
	Fields []Field
}

// Field is a value that an item has beside its text, written as every recording
// would write it (Names.Of).
type Field struct {
	Path  string
	Value string
	Class Class
}

// Fold returns what a reply says, without repetition. Pieces of a text are joined; pings, padding
// and numbers that count events are left out. Of OpenAI's repeated response object, and of what
// all Gemini chunks share, only new values are kept; a field that repeats a streamed text has
// the value "as streamed". names are those of the recording.
func Fold(events []Event, names *Names) []Item {
	f := folder{names: names, state: map[string]string{}, more: map[int][]byte{}, chunk: -1}
	for _, e := range events {
		for _, p := range e.readableParts() {
			if p.Name != "ping" {
				f.addPart(e, p)
			}
		}
	}
	for i := range f.items {
		item := &f.items[i]
		if more := f.more[i]; more != nil {
			item.Text = string(more)
		}
		if item.Class == Opaque && item.Text != "" {
			item.Text = names.nameFor(Opaque, "opaque#", item.Text)
		}
	}
	return f.items
}

// readableParts are the parts of an event. One that arrived whole and is not JSON is one part
// without values, whatever could be read of it: a client reads none of it.
func (e Event) readableParts() []Part {
	if e.Whole && !json.Valid(e.Data) {
		return []Part{{Name: cmp.Or(e.Name, chunkName)}}
	}
	return e.Parts()
}

type folder struct {
	names *Names
	items []Item
	state map[string]string // what was said last, by path
	more  map[int][]byte    // by index, the text of items of several pieces: appending to it does not copy
	chunk int               // the index of the item with the chunks' last counts, or -1
}

func (f *folder) addPart(e Event, p Part) {
	item := Item{Part: p, First: e.Index, Last: e.Index, Events: 1, Bytes: e.End - e.Start, At: e.At, Until: e.At}
	for _, n := range p.Nodes {
		if n.Leaf() {
			f.addLeaf(&item, n)
		}
	}
	if len(p.Nodes) == 0 && len(e.Data) > 0 {
		item.Text, item.Pieces = string(e.Data), true // no JSON: the text is all there is
	}
	if p.Name == chunkName && !item.Pieces && f.settleUsage(&item) {
		return
	}
	if item.Nodes = nil; !f.joinPiece(item) {
		f.items = append(f.items, item)
	}
}

func (f *folder) addLeaf(item *Item, n Node) {
	class := classOf(n)
	if isPiece(item.Part, n) {
		item.Text, item.Class, item.Pieces = n.Text(), class, true
		return
	}
	if class == Noise || n.Path == "type" {
		return
	}
	value := f.names.Of(n)
	if slices.Contains(texts, n.Key()) && f.wasStreamed(n.Text()) {
		value = streamed
	}
	at, lasting := lastingPath(item.Part, n.Path)
	if lasting && f.state[at] == value {
		return
	}
	f.state[at] = value
	if slices.Contains(described, n.Path) {
		return // it is part of the token
	}
	item.Fields = append(item.Fields, Field{n.Path, value, class})
}

// streamed is the value of a field that repeats a text that came in pieces.
const streamed = "as streamed"

// texts are the fields in which a provider repeats what it has streamed.
var texts = []string{"text", "arguments", "input", "refusal", "code"}

func (f *folder) wasStreamed(text string) bool {
	for i, item := range f.items {
		if more := f.more[i]; item.Pieces && text != "" && (more == nil && item.Text == text || string(more) == text) {
			return true
		}
	}
	return false
}

// isPiece reports whether a leaf is a piece of a text.
func isPiece(p Part, n Node) bool {
	if n.Kind != '"' {
		return false
	}
	if p.Name == "part" {
		return n.Path == "text"
	}
	return n.Path != "text" && slices.Contains(pieces, n.Path)
}

// lastingPath returns where a value stands in the whole response, and whether
// providers repeat it: OpenAI repeats the whole response, and each of its items
// with an index.
func lastingPath(p Part, path string) (string, bool) {
	switch {
	case p.Name == chunkName || strings.HasPrefix(path, "response."):
		return path, true
	case strings.HasPrefix(path, "item."):
		return "response.output[" + p.Place + "]" + strings.TrimPrefix(path, "item"), true
	}
	return path, false
}

// settleUsage moves the token counts that come with every chunk to the last
// chunk item, and reports whether the item has nothing else.
func (f *folder) settleUsage(item *Item) bool {
	counts := usageOf(item)
	if len(item.Fields)+len(counts) == 0 {
		return len(item.Nodes) > 1 // a chunk whose parts have said it all
	}
	if len(item.Fields) > 0 || f.chunk < 0 {
		if f.chunk >= 0 {
			counts = mergeFields(usageOf(&f.items[f.chunk]), counts)
		}
		item.Fields = append(item.Fields, counts...)
		f.chunk = len(f.items)
		return false
	}
	last := &f.items[f.chunk]
	last.Fields = append(last.Fields, mergeFields(usageOf(last), counts)...)
	return true
}

// usageOf removes the counts from an item and returns them.
func usageOf(item *Item) (counts []Field) {
	item.Fields = slices.DeleteFunc(item.Fields, func(x Field) bool {
		if x.Class == Usage {
			counts = append(counts, x)
		}
		return x.Class == Usage
	})
	return counts
}

// mergeFields replaces old values by new ones.
func mergeFields(old, fresh []Field) []Field {
	for _, x := range fresh {
		if i := slices.IndexFunc(old, func(o Field) bool { return o.Path == x.Path }); i >= 0 {
			old[i] = x
		} else {
			old = append(old, x)
		}
	}
	return old
}

// joinPiece adds a piece to the text it continues, and reports whether there was
// one. Pieces of several blocks may alternate.
func (f *folder) joinPiece(item Item) bool {
	if !item.Pieces {
		return false
	}
	for i := len(f.items) - 1; i >= 0; i-- {
		old := &f.items[i]
		if isContinuation(*old, item) {
			if f.more[i] == nil {
				f.more[i] = []byte(old.Text)
			}
			f.more[i] = append(f.more[i], item.Text...)
			old.Events, old.Bytes = old.Events+1, old.Bytes+item.Bytes
			old.Last, old.Until = item.Last, item.Until
			return true
		}
		if isApart := item.Place != "" && old.Place != item.Place; !old.Pieces && old.Name != chunkName && !isApart {
			return false // an event about another place, or none, ends no text
		}
		if old.Name == "part" && item.Name == "part" {
			return false // parts have no index: order is all that tells them apart
		}
	}
	return false
}

// isContinuation reports whether b continues a's text. The provider keeps parts
// of one event apart.
func isContinuation(a, b Item) bool {
	return a.Pieces && a.Token() == b.Token() && a.Place == b.Place && a.Class == b.Class &&
		a.Last < b.First && slices.Equal(a.Fields, b.Fields)
}

// Class says what a value means to a reader who compares two recordings.
type Class int

// The classes. A value of no other class is Plain.
const (
	Plain  Class = iota
	ID           // names something; another recording has another name for it
	Time         // a point in time
	Opaque       // a signature or other text that only its issuer can read
	Usage        // counts tokens
	Place        // tells which block an event is about
	Noise        // padding, or a number that counts events
)

var (
	places = []string{"index", "output_index", "content_index", "summary_index"}
	noises = []string{"obfuscation", "sequence_number"}
	times  = []string{"created", "timestamp", "createTime", "updateTime", "create_time"}
	// data is a redacted thought or an image: neither is readable.
	opaques = []string{"signature", "thoughtSignature", "thought_signature", "encrypted_content", "encrypted_index",
		"encrypted_stdout", "system_fingerprint", "turnToken", "data"}
	usages = []string{"usage", "usageMetadata"}
)

// classOf classifies a leaf by the names on its path.
func classOf(n Node) Class {
	key, text := n.Key(), n.Kind == '"'
	switch {
	case slices.Contains(noises, key):
		return Noise
	case slices.Contains(places, key) && n.Kind == '0':
		return Place
	case text && (key == "id" || strings.HasSuffix(key, "_id") || strings.HasSuffix(key, "Id")):
		return ID
	case slices.Contains(times, key) || strings.HasSuffix(key, "_at"):
		return Time
	case text && slices.Contains(opaques, key):
		return Opaque
	case hasAncestor(n.Path, usages):
		return Usage
	}
	return Plain
}

// hasAncestor reports whether a path leads through one of names.
func hasAncestor(path string, names []string) bool {
	for step := range strings.SplitSeq(path, ".") {
		key, _, _ := strings.Cut(step, "[")
		if slices.Contains(names, key) {
			return true
		}
	}
	return false
}

// pieces are the fields that carry a part of a text. The parts of several events
// are joined.
var pieces = []string{"delta", "delta.text", "delta.thinking", "delta.partial_json", "delta.signature", "text"}

// Names gives ids and opaque values the same names in every recording of the
// same conversation: id#1 is the first id that occurs, wherever it occurs again.
// One Names is for one recording, read in its order, and for one goroutine.
type Names struct {
	seen  map[string]string
	count map[Class]int
}

// NewNames returns the names for a recording before its first event.
func NewNames() *Names {
	return &Names{seen: map[string]string{}, count: map[Class]int{}}
}

// Of returns a leaf's value as it is in every recording of the conversation: a name for an id or
// an opaque text, the word "time" for a time, and the JSON for all other values.
func (n *Names) Of(node Node) string {
	class := classOf(node)
	prefix := map[Class]string{ID: "id#", Opaque: "opaque#"}[class]
	switch {
	case class == Time && (node.Kind == '"' || node.Kind == '0'):
		return "time"
	case prefix == "" || node.Text() == "":
		return string(redact.MaskPseudonyms(node.Raw))
	}
	return n.nameFor(class, prefix, node.Text())
}

func (n *Names) nameFor(class Class, prefix, value string) string {
	key := prefix + value
	if n.seen[key] == "" {
		n.count[class]++
		n.seen[key] = prefix + strconv.Itoa(n.count[class])
	}
	return n.seen[key]
}
