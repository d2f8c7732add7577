package gate

import (
	"bytes"
	"hash/maphash"
	"sync"
)

// searchedTexts remembers the long texts of request bodies that passed, while no secret is learnt.
// An agent sends the whole conversation with each request, so the middle of such a text is not
// searched again. Its ends are, with what stands beside them.
type searchedTexts struct {
	mu     sync.Mutex
	seed   maphash.Seed
	passed map[uint64]struct{}
}

const (
	shortestSearched = 4 << 10 // the length from which texts are remembered
	endsSearched     = 1 << 10 // how much of each end is searched again
	mostSearched     = 1 << 16 // how many texts are remembered
)

// shorten returns a body without the middle of the texts that passed before, and the hashes of
// the other long texts in it.
func (t *searchedTexts) shorten(body []byte) (short []byte, unknown []uint64) {
	if len(body) < shortestSearched {
		return body, nil
	}
	end := 0
	for token := range jsonTokens(body) {
		text := token.text
		if len(text) < shortestSearched || !token.isString() || bytes.IndexByte(text[:64], ' ') < 0 {
			continue // text without a space may be an opaque token, which is searched by other rules
		}
		hash := maphash.Bytes(t.seed, text)
		if !t.isPassed(hash) {
			unknown = append(unknown, hash)
			continue
		}
		at := cap(body) - cap(text) // text is a part of body
		short = append(append(short, body[end:at+endsSearched]...), ' ')
		for end = at + len(text) - endsSearched; body[end-1] == '\\'; end-- { // no escape is cut in two
		}
	}
	if end == 0 {
		return body, unknown
	}
	return append(short, body[end:]...), unknown
}

func (t *searchedTexts) isPassed(hash uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, isPassed := t.passed[hash]
	return isPassed
}

// remember remembers texts that passed.
func (t *searchedTexts) remember(hashes []uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, hash := range hashes {
		if len(t.passed) >= mostSearched {
			clear(t.passed)
		}
		t.passed[hash] = struct{}{}
	}
}

// forget forgets all texts: a secret that was learnt may be in them.
func (t *searchedTexts) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.passed)
}
