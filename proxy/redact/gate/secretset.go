package gate

import (
	"slices"
	"strings"
)

// secretSet is a set of secrets, found by their first bytes. Those of well-known keys are in
// the same tables, so that one pass over a text looks for both.
type secretSet struct {
	values  map[string]bool
	first   heads
	coded   sextetPairs         // the first two bytes, in base64
	by      map[uint16][]string // by the first two bytes
	lowered map[uint16][]string // those that can stand in a name, in small letters
}

func newSecretSet(secrets ...string) *secretSet {
	s := &secretSet{values: map[string]bool{}, by: map[uint16][]string{}, lowered: map[uint16][]string{}}
	for _, f := range families {
		s.first.add(headOf(f.Prefix))
		s.coded.add(firstTwo(f.Prefix))
	}
	s.add(secrets...)
	return s
}

// add adds the secrets that are worth searching for, and reports whether any is new.
func (s *secretSet) add(secrets ...string) (isNew bool) {
	for _, v := range secrets {
		if s.lacks(v) {
			isNew = true
			s.values[v] = true
			s.index(v)
		}
	}
	return isNew
}

// lacks reports whether a secret is worth searching for and not in the set.
func (s *secretSet) lacks(v string) bool { return isWorthSearching(v) && !s.values[v] }

func (s *secretSet) index(v string) {
	k := firstTwo(v)
	s.by[k] = append(s.by[k], v)
	s.first.add(headOf(v))
	s.coded.add(k)
	if len(v) >= minSecret && len(v) <= maxSearched {
		v = strings.ToLower(v)
		s.lowered[firstTwo(v)] = append(s.lowered[firstTwo(v)], v)
	}
}

// heads is a set of hashes of three bytes. It fits into the processor's first cache.
type heads [1 << 9]uint64

// headLength is how many bytes a head has.
const headLength = 3

// nextHead returns the hash of the last three bytes of a text, small and capital letters
// alike, given the hash before its last byte.
func nextHead(hash uint16, last byte) uint16 { return (hash<<5 ^ uint16(last|' ')) & (1<<15 - 1) }

// headOf returns the hash of the first three bytes of a text.
func headOf(text string) uint16 { return nextHead(nextHead(nextHead(0, text[0]), text[1]), text[2]) }

func (h *heads) add(k uint16) { h[k>>6] |= 1 << (k & 63) }

func (h *heads) has(k uint16) bool { return h[k>>6&(1<<9-1)]>>(k&63)&1 != 0 }

func firstTwo[T string | []byte](v T) uint16 { return uint16(v[0])<<8 | uint16(v[1]) }

// secretAt returns the secret that stands at text[i:], or "". Of a long one its beginning is
// enough; of several that begin alike the one that stands there whole is returned.
func (s *secretSet) secretAt(text []byte, i int) (found string) {
	for _, v := range s.by[firstTwo(text[i:])] {
		end := i + min(len(v), maxSearched)
		if end > len(text) || string(text[i:end]) != v[:end-i] {
			continue
		}
		if len(v) < minSecret && !isWholeWord(text, i, end) {
			continue
		}
		if len(text)-i >= len(v) && string(text[i:i+len(v)]) == v {
			return v
		}
		found = v
	}
	return found
}

// isWholeWord reports whether no letter or digit stands around text[start:end].
func isWholeWord(text []byte, start, end int) bool {
	return (start == 0 || !isAlphanumeric(text[start-1])) && (end == len(text) || !isAlphanumeric(text[end]))
}

// inName reports whether a secret is in the name of a header, where the case of
// its letters is lost.
func (s *secretSet) inName(name string) bool {
	name = strings.ToLower(name)
	for i := range max(len(name)-minSecret+1, 0) {
		rest := name[i:]
		if s.first.has(headOf(rest)) &&
			slices.ContainsFunc(s.lowered[firstTwo(rest)], func(v string) bool { return strings.HasPrefix(rest, v) }) {
			return true
		}
	}
	return false
}
