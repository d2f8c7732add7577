package redact

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strconv"
	"sync"

	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// searchedTexts remembers the long texts of requests in which nothing was found. An agent sends
// the whole conversation with each request, so such a text comes again and again, and its middle
// is not searched again for words. Its two ends are: what stands beside a text could make a credential
// of them. It is safe for concurrent use.
type searchedTexts struct {
	mu   sync.Mutex
	seed maphash.Seed
	done map[uint64]struct{} // hashes of a text and the names that it stands under
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

// newText is a long text of a body that was not searched before.
type newText struct {
	place lex.Span
	hash  uint64
}

// leaveOut marks the texts of a body that were searched before. It returns the parts of the body that are
// left to be searched for words, and the long texts that are new.
func (t *searchedTexts) leaveOut(body *jsonscan.Index) (left []lex.Span, fresh []newText) {
	end := 0
	if len(body.Text) >= shortestSearched {
		body.MarkSearched(func(s jsonscan.String) bool {
			size := s.Value.End - s.Value.Start
			if s.IsPair || size < shortestSearched || size > jsonscan.MaxNested ||
				size > maxSearched && s.Region != jsonscan.Conversation {
				return false
			}
			sum := t.hash(body.Text, s)
			if !t.isDone(sum) {
				fresh = append(fresh, newText{s.Value, sum})
				return false
			}
			cut := lex.Between(s.Value.Start+endsSearched, s.Value.End-endsSearched)
			for body.Text[cut.Start-1] == '\\' { // no escape is cut in two
				cut.Start++
			}
			for body.Text[cut.End-1] == '\\' && cut.Start < cut.End {
				cut.End--
			}
			left, end = append(left, lex.Between(end, cut.Start)), cut.End
			return true
		})
	}
	return append(left, lex.Between(end, len(body.Text))), fresh
}

// hash identifies a text with the names that it stands under.
func (t *searchedTexts) hash(body []byte, s jsonscan.String) uint64 {
	var hash maphash.Hash
	hash.SetSeed(t.seed)
	for _, part := range []lex.Span{s.Parent, s.Key, s.Value} {
		_, _ = hash.Write(part.In(body))
		_ = hash.WriteByte('"')
	}
	_ = hash.WriteByte(byte(s.Region))
	_, _ = hash.WriteString(strconv.FormatBool(s.IsArgument))
	return hash.Sum64()
}

func (t *searchedTexts) isDone(hash uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, isDone := t.done[hash]
	return isDone
}

// remember remembers the new texts of a body that no span in found touches.
func (t *searchedTexts) remember(body []byte, fresh []newText, found []lex.Span) {
	slices.SortFunc(found, func(a, b lex.Span) int { return a.Start - b.Start })
	reach, next := 0, 0
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, text := range fresh {
		for ; next < len(found) && found[next].Start < text.place.End; next++ {
			reach = max(reach, found[next].End)
		}
		if reach > text.place.Start || isBase64(text.place.In(body)) {
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
