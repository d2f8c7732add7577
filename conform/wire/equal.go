package wire

import (
	"bytes"
	"hash/maphash"
	"strconv"
	"strings"
)

// Equal reports whether a and b are the same JSON value: member order, white
// space, escapes and number forms (1.0, 1e0) do not count, digits do, however
// long. Members named in ignore are left out at every depth.
func Equal(a, b *Node, ignore ...string) bool {
	path, _ := Diff(a, b, ignore...)
	return path == "="
}

// Diff finds the first place where a and b differ as JSON values and says what
// differs there: path is like ".content[1].text", "" for the value itself, "="
// when nothing differs. Members named in ignore are left out at every depth.
func Diff(a, b *Node, ignore ...string) (path, what string) {
	switch {
	case a == nil && b == nil:
		return "=", ""
	case a == nil:
		return "", "was absent"
	case b == nil:
		return "", "is gone"
	case a.Kind != b.Kind:
		return "", "was " + kindName(a.Kind) + ", is " + kindName(b.Kind)
	}
	switch a.Kind {
	case '{':
		return diffObject(a, b, ignore)
	case '[':
		return diffArray(a, b, ignore)
	}
	if bytes.Equal(a.Raw, b.Raw) || scalarEqual(a, b) {
		return "=", ""
	}
	return "", "changed"
}

func scalarEqual(a, b *Node) bool {
	if a.Kind == '"' {
		return a.Str() == b.Str()
	}
	return a.Kind == '0' && normalNumber(string(a.Raw)) == normalNumber(string(b.Raw))
}

func diffObject(a, b *Node, ignore []string) (path, what string) {
	for i, name := range a.Names {
		if isIgnored(name, ignore) || a.Get(name) != a.Items[i] {
			continue
		}
		if p, w := Diff(a.Items[i], b.Get(name), ignore...); p != "=" {
			return "." + name + p, w
		}
	}
	for _, name := range b.Names {
		if !isIgnored(name, ignore) && a.Get(name) == nil {
			return "." + name, "is new"
		}
	}
	return "=", ""
}

func diffArray(a, b *Node, ignore []string) (path, what string) {
	for i := range min(len(a.Items), len(b.Items)) {
		if p, w := Diff(a.Items[i], b.Items[i], ignore...); p != "=" {
			return "[" + strconv.Itoa(i) + "]" + p, w
		}
	}
	if len(a.Items) != len(b.Items) {
		return "", "had " + strconv.Itoa(len(a.Items)) + " elements, has " + strconv.Itoa(len(b.Items))
	}
	return "=", ""
}

func isIgnored(name string, ignore []string) bool {
	for _, s := range ignore {
		if s == name {
			return true
		}
	}
	return false
}

func kindName(k Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "a boolean"
}

// normalNumber brings a JSON number to one form: sign, digits without leading or
// trailing zeros, exponent. No precision is lost, whatever the length.
func normalNumber(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	exp := 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exp, _ = strconv.Atoi(strings.TrimPrefix(s[i+1:], "+"))
		s = s[:i]
	}
	if i := strings.IndexByte(s, '.'); i >= 0 {
		exp -= len(s) - i - 1
		s = s[:i] + s[i+1:]
	}
	s = strings.TrimLeft(s, "0")
	t := strings.TrimRight(s, "0")
	if t == "" {
		return "0"
	}
	return sign + t + "e" + strconv.Itoa(exp+len(s)-len(t))
}

// SameTokens reports whether a and b are the same bytes except for white space
// between tokens: member order, escapes and number forms count.
func SameTokens(a, b *Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if bytes.Equal(a.Raw, b.Raw) {
		return true
	}
	if container := a.Kind == '{' || a.Kind == '['; !container || a.Kind != b.Kind || len(a.Items) != len(b.Items) {
		return false
	}
	for i := range a.Items {
		if a.Kind == '{' && a.Names[i] != b.Names[i] || !SameTokens(a.Items[i], b.Items[i]) {
			return false
		}
	}
	return true
}

var hashSeed = maphash.MakeSeed()

// Hash returns a number that is the same for values that are Equal with the same
// ignore, within one run of the program.
func (n *Node) Hash(ignore ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(hashSeed)
	if n == nil {
		return h.Sum64()
	}
	_ = h.WriteByte(byte(n.Kind))
	switch n.Kind {
	case '"':
		_, _ = h.WriteString(n.Str())
	case '0':
		_, _ = h.WriteString(normalNumber(string(n.Raw)))
	case '[':
		for _, v := range n.Items {
			writeSum(&h, v.Hash(ignore...))
		}
	case '{':
		// A sum does not depend on the order of the members.
		var sum uint64
		for i, name := range n.Names {
			if v := n.Items[i]; !isIgnored(name, ignore) && n.Get(name) == v {
				sum += maphash.String(hashSeed, name) ^ v.Hash(ignore...)*31
			}
		}
		writeSum(&h, sum)
	}
	return h.Sum64()
}

func writeSum(h *maphash.Hash, v uint64) {
	maphash.WriteComparable(h, v)
}
