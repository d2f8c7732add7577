package event

import (
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact"
)

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
