package redact

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// searchedTexts remembers the long texts of requests in which nothing was found. An agent sends
// the whole conversation with each request, so such a text comes again and again, and its middle
// is not searched again. Its two ends are: what stands beside a text could make a credential of
// them. It is safe for concurrent use.
type searchedTexts struct {
	mu   sync.Mutex
	seed maphash.Seed
	done map[uint64]struct{} // hashes of a text and the name that it stands under
}

const (
	// shortestSearched is the length from which texts are remembered. Above maxSearched texts are
	// searched by other rules, which the rest of such a text must not escape.
	shortestSearched, maxSearched = 1 << 10, 16 << 10
	// endsSearched is how much of each end of a remembered text is searched again, in bytes.
	endsSearched = 256
	// mostSearched is how many texts are remembered.
	mostSearched = 1 << 16
)

func newSearchedTexts() *searchedTexts {
	return &searchedTexts{seed: maphash.MakeSeed(), done: map[uint64]struct{}{}}
}

// shortened is a body without the middle of those texts that were searched before.
type shortened struct {
	text []byte
	cuts []lex.Span // of the body, in order
	left []int      // where each cut is in text
	new  []newText
}

// newText is a long text that was not searched before, by its place in shortened.text.
type newText struct {
	place lex.Span
	hash  uint64
}

// shorten leaves out of a body what was searched before. Without such a text it is the body itself.
func (t *searchedTexts) shorten(body []byte) (out shortened) {
	if len(body) < shortestSearched {
		return shortened{text: body}
	}
	var hash maphash.Hash
	hash.SetSeed(t.seed)
	end, removed := 0, 0
	for s := range jsonscan.Strings(body, true) {
		size := s.Value.End - s.Value.Start
		if s.IsPair || size < shortestSearched || size > jsonscan.MaxNested || size > maxSearched && s.Region != jsonscan.Conversation {
			continue
		}
		hash.Reset()
		_, _ = hash.Write(s.Key.In(body))
		_ = hash.WriteByte('"')
		_, _ = hash.Write(s.Value.In(body))
		sum := hash.Sum64()
		t.mu.Lock()
		_, isDone := t.done[sum]
		t.mu.Unlock()
		if !isDone {
			out.new = append(out.new, newText{lex.Between(s.Value.Start-removed, s.Value.End-removed), sum})
			continue
		}
		cut := lex.Between(s.Value.Start+endsSearched, s.Value.End-endsSearched)
		for body[cut.Start-1] == '\\' { // no escape is cut in two
			cut.Start++
		}
		for body[cut.End-1] == '\\' && cut.Start < cut.End {
			cut.End--
		}
		out.text = append(append(out.text, body[end:cut.Start]...), cutMark...)
		out.cuts, out.left = append(out.cuts, cut), append(out.left, len(out.text))
		end, removed = cut.End, removed+cut.End-cut.Start-len(cutMark)
	}
	if len(out.cuts) == 0 {
		out.text = body
		return out
	}
	out.text = append(out.text, body[end:]...)
	return out
}

// cutMark stands for what was left out. It ends any value.
const cutMark = `\n\n`

// inBody returns spans of s.text as spans of the body; false if one of them is around a cut.
func (s *shortened) inBody(spans []lex.Span) ([]lex.Span, bool) {
	if len(s.cuts) == 0 {
		return spans, true
	}
	out := make([]lex.Span, len(spans))
	for i, span := range spans {
		n, isAtCut := slices.BinarySearch(s.left, span.Start)
		if isAtCut {
			n++
		}
		if n < len(s.left) && s.left[n]-len(cutMark) < span.End {
			return nil, false
		}
		offset := 0
		if n > 0 {
			offset = s.cuts[n-1].End - s.left[n-1]
		}
		out[i] = lex.Between(span.Start+offset, span.End+offset)
	}
	return out, true
}

// remember remembers the new texts of s that no span in found touches. found are spans of s.text.
func (t *searchedTexts) remember(s shortened, found []lex.Span) {
	slices.SortFunc(found, func(a, b lex.Span) int { return a.Start - b.Start })
	reach, next := 0, 0
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, text := range s.new {
		for ; next < len(found) && found[next].Start < text.place.End; next++ {
			reach = max(reach, found[next].End)
		}
		if reach > text.place.Start || isBase64(text.place.In(s.text)) {
			continue
		}
		if len(t.done) >= mostSearched {
			clear(t.done)
		}
		t.done[text.hash] = struct{}{}
	}
}

// isBase64 reports whether a text may be a document in base64, whose secrets have no place in it.
func isBase64(text []byte) bool { return bytes.IndexByte(text[:64], ' ') < 0 }
