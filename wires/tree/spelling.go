package tree

import (
	"regexp"
	"strconv"
	"strings"
)

// Camel spells a name as JSON does: "mimeType" for "mime_type".
func Camel(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words {
		if i > 0 && w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// Snake spells a name as a proto does: "mime_type" for "mimeType".
func Snake(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// Steps are the names and indexes of a path like messages[0].content or messages.0.content.
func Steps(path string) []string { return pathStep.FindAllString(path, 64) }

var pathStep = regexp.MustCompile(`[^.\[\]]+`)

// Child returns the element or member that a step of a path names, in either spelling of proto-JSON; nil
// for none.
func (n *Node) Child(step string) *Node {
	if list := n.List(); list != nil {
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(list) {
			return list[i]
		}
		return nil
	}
	return n.Any(step, Camel(step), Snake(step))
}
