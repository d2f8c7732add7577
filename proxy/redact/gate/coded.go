package gate

import "bytes"

// sextetPairs is the set of two letters with which base64 can write the first two bytes of
// a secret. Where the secret begins in a group of three bytes decides which of its bits the
// letters hold.
type sextetPairs [1 << 6]uint64

// add adds the letters for the first two bytes of a secret.
func (p *sextetPairs) add(k uint16) {
	for _, pair := range [...]uint16{k >> 4, k >> 2 & 0xfff, k & 0xfff} {
		p[pair>>6] |= 1 << (pair & 63)
	}
}

func (p *sextetPairs) has(pair uint16) bool { return p[pair>>6&63]>>(pair&63)&1 != 0 }

// sextetOffsets are the three places at which a secret can begin in a group of three bytes: the
// letter of the group that the pair of letters starts with, and the index of the byte.
var sextetOffsets = [...]struct{ letter, byte int }{{0, 0}, {2, 1}, {3, 2}}

// shiftsIn returns from which of the first four letters a run of base64 must be decoded to
// find secrets that can be in it. Each letter is looked at a few times at most.
func (s *secretSet) shiftsIn(run []byte) (shifts [4]bool) {
	pair := uint16(sextet[run[0]]) //nolint:gosec // six bits: a run has letters of base64 only
	for i := 1; i < len(run); i++ {
		pair = (pair<<6 | uint16(sextet[run[i]])) & 0xfff //nolint:gosec // the same
		if !s.coded.has(pair) {
			continue
		}
		for _, p := range sextetOffsets {
			group := i - 1 - p.letter
			if group >= 0 && !shifts[group&3] && s.canBeginAt(run[group:], p.byte) {
				shifts[group&3] = true
			}
		}
	}
	return shifts
}

// canBeginAt reports whether the letters of a run can be those of a secret or of a known
// key that begins with the given byte.
func (s *secretSet) canBeginAt(run []byte, at int) bool {
	var space [24]byte
	head := decodeBase64(space[:0], run[:min(len(run), len(space)*4/3)])
	if len(head) < at+2 {
		return false
	}
	head = head[at:]
	k := firstTwo(head)
	for _, v := range s.by[k] {
		if n := min(len(v), len(head)); string(head[:n]) == v[:n] {
			return true
		}
	}
	for _, f := range familiesBy[k] {
		if bytes.HasPrefix(head, []byte(f.Prefix)) || len(head) < len(f.Prefix) {
			return true
		}
	}
	return false
}
