package tree

import (
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
	case kindName(a) != kindName(b):
		return "", "was " + kindName(a) + ", is " + kindName(b)
	}
	switch a.kind {
	case Object:
		for i, name := range a.names {
			if isIgnored(name, ignore) || a.Get(name) != a.items[i] {
				continue
			}
			if p, w := Diff(a.items[i], b.Get(name), ignore...); p != "=" {
				return "." + name + p, w
			}
		}
		for _, name := range b.names {
			if !isIgnored(name, ignore) && a.Get(name) == nil {
				return "." + name, "is new"
			}
		}
		return "=", ""
	case Array:
		for i := range min(len(a.items), len(b.items)) {
			if p, w := Diff(a.items[i], b.items[i], ignore...); p != "=" {
				return "[" + strconv.Itoa(i) + "]" + p, w
			}
		}
		if len(a.items) != len(b.items) {
			return "", "had " + strconv.Itoa(len(a.items)) + " elements, has " + strconv.Itoa(len(b.items))
		}
		return "=", ""
	}
	if a.raw == b.raw || scalarEqual(a, b) {
		return "=", ""
	}
	return "", "changed"
}

func scalarEqual(a, b *Node) bool {
	if a.kind == String {
		return a.text == b.text
	}
	return a.Is(Number) && normalNumber(a.raw) == normalNumber(b.raw)
}

func isIgnored(name string, ignore []string) bool {
	for _, s := range ignore {
		if s == name {
			return true
		}
	}
	return false
}

func kindName(n *Node) string {
	switch n.kind {
	case Object:
		return "an object"
	case Array:
		return "an array"
	case String:
		return "a string"
	case Integer, Decimal:
		return "a number"
	case Null:
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
	if a.raw == b.raw {
		return true
	}
	if !a.Is(Array|Object) || a.kind != b.kind || len(a.items) != len(b.items) {
		return false
	}
	for i := range a.items {
		if a.kind == Object && a.names[i] != b.names[i] || !SameTokens(a.items[i], b.items[i]) {
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
	_, _ = h.WriteString(kindName(n))
	switch n.kind {
	case Bool:
		_ = h.WriteByte(n.raw[0])
	case String:
		_, _ = h.WriteString(n.text)
	case Integer, Decimal:
		_, _ = h.WriteString(normalNumber(n.raw))
	case Array:
		for _, v := range n.items {
			writeSum(&h, v.Hash(ignore...))
		}
	case Object:
		// A sum does not depend on the order of the members.
		var sum uint64
		for i, name := range n.names {
			if v := n.items[i]; !isIgnored(name, ignore) && n.Get(name) == v {
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
