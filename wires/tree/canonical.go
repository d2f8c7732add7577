package tree

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Canonical writes a value for a digest, so that two spellings of one value have
// the same bytes: members sorted by name, no white space, strings without escapes
// that are not needed. The zero Canonical writes numbers as they were sent and
// every member.
type Canonical struct {
	// AppendNumber, if not nil, appends a number, given as it was sent.
	AppendNumber func(out []byte, literal string) []byte
	// LastWins writes only the last of the members that have one name.
	LastWins bool
	// Omit, if not nil, reports whether a member is left out.
	Omit func(name string, value *Node) bool
}

// Append appends the value to out. An absent value is null.
func (c Canonical) Append(out []byte, n *Node) []byte {
	switch {
	case n.Is(String):
		return strconv.AppendQuote(out, n.text)
	case n.Is(Number) && c.AppendNumber != nil:
		return c.AppendNumber(out, n.raw)
	case n.Is(Array):
		out = append(out, '[')
		for i := range n.items {
			out = append(c.Append(out, n.items[i]), ',')
		}
		return append(out, ']')
	case n.Is(Object):
		return c.appendObject(out, n)
	case n == nil:
		return append(out, "null"...)
	}
	return append(out, n.raw...)
}

func (c Canonical) appendObject(out []byte, n *Node) []byte {
	order := make([]int, len(n.names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(n.names[a], n.names[b]) })
	out = append(out, '{')
	for at, i := range order {
		if c.LastWins && at+1 < len(order) && n.names[order[at+1]] == n.names[i] {
			continue
		}
		if c.Omit != nil && c.Omit(n.names[i], n.items[i]) {
			continue
		}
		out = append(strconv.AppendQuote(out, n.names[i]), ':')
		out = append(c.Append(out, n.items[i]), ',')
	}
	return append(out, '}')
}

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
