package lex

import (
	"cmp"
	"slices"
)

// Span is a range of bytes.
type Span struct{ Start, End int }

// Between returns the bytes from start up to end.
func Between(start, end int) Span { return Span{start, end} }

// In returns the bytes of a text.
func (s Span) In(b []byte) []byte { return b[s.Start:s.End] }

// Shifted returns spans of a part that begins at offset as spans of the whole.
func Shifted(parts []Span, offset int) []Span { return AppendShifted(nil, parts, offset) }

// AppendShifted appends what [Shifted] returns.
func AppendShifted(out, parts []Span, offset int) []Span {
	for _, p := range parts {
		out = append(out, Between(offset+p.Start, offset+p.End))
	}
	return out
}

// Without leaves out the spans that lie inside one of kept.
func Without(spans, kept []Span) (out []Span) {
	if len(kept) == 0 {
		return spans
	}
	slices.SortFunc(kept, func(a, b Span) int { return a.Start - b.Start })
	reach := make([]int, len(kept)) // how far the first ones go
	for i, k := range kept {
		reach[i] = max(k.End, reach[max(i-1, 0)])
	}
	for _, s := range spans {
		n, _ := slices.BinarySearchFunc(kept, s.Start+1, func(k Span, start int) int { return k.Start - start })
		if n == 0 || reach[n-1] < s.End {
			out = append(out, s)
		}
	}
	return out
}

// AddDisjoint adds to found those of more that touch none of found, and of those that lie inside
// each other only the outer one. It sorts more.
func AddDisjoint(found, more []Span) []Span {
	known := slices.SortedFunc(slices.Values(found), func(a, b Span) int { return a.Start - b.Start })
	reach, next := 0, 0 // how far those reach that begin before the end of a span
	slices.SortFunc(more, func(a, b Span) int { return cmp.Or(a.Start-b.Start, b.End-a.End) })
	end := 0 // of the last one
	for _, s := range more {
		if s.End <= end {
			continue // inside of another one, which is replaced as a whole
		}
		end = s.End
		for ; next < len(known) && known[next].Start < s.End; next++ {
			reach = max(reach, known[next].End)
		}
		if reach <= s.Start {
			found = append(found, s)
		}
	}
	return found
}
