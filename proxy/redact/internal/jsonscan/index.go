package jsonscan

import "iter"

// Index is a text and the strings of JSON in it. The first reader of the strings scans the text; later
// readers get what that scan found. The strings of a text with very many are scanned for each reader,
// because keeping them would cost more memory than the text. An Index is for one goroutine.
type Index struct {
	Text   []byte
	kept   []String
	isLong bool // the text has more than mostKept strings
}

// mostKept is how many strings of a text are kept at most.
const mostKept = 1 << 13

// NewIndex returns the index of a text. It does not scan the text yet.
func NewIndex(text []byte) *Index { return &Index{Text: text} }

// Strings is [Strings] for the text of the index.
func (x *Index) Strings(withRegions bool) iter.Seq[String] {
	return func(yield func(String) bool) {
		if !x.keep() {
			Strings(x.Text, withRegions)(yield)
			return
		}
		for i := range x.kept {
			if s := &x.kept[i]; (withRegions || !s.IsPair) && !yield(*s) {
				return
			}
		}
	}
}

// keep keeps the strings, and reports whether they are kept.
func (x *Index) keep() bool {
	if x.kept != nil || x.isLong {
		return !x.isLong
	}
	kept := make([]String, 0, min(mostKept, len(x.Text)/256+16))
	for s := range Strings(x.Text, true) {
		if len(kept) == mostKept {
			x.isLong = true
			return false
		}
		kept = append(kept, s)
	}
	x.kept = kept
	return true
}

// MarkSearched sets IsSearched of the kept strings for which isSearched says so.
func (x *Index) MarkSearched(isSearched func(String) bool) {
	if !x.keep() {
		return
	}
	for i := range x.kept {
		x.kept[i].IsSearched = isSearched(x.kept[i])
	}
}
