package stream

import "strings"

// stringPool copies small strings side by side: many blocks are short, and an
// allocation for each of their texts, ids and tokens costs more than they do.
// A string keeps its whole chunk alive, which is no loss where the blocks of a
// message live and die together. Large strings stand alone.
type stringPool struct{ chunk strings.Builder }

const (
	minChunk = 512 // short replies must not pay for long ones
	maxChunk = 8 << 10
)

func (t *stringPool) copyString(b []byte) string {
	start := t.chunk.Len()
	if t.chunk.Cap()-start < len(b) {
		size := min(max(minChunk, 2*t.chunk.Cap()), maxChunk)
		if len(b) > size/4 {
			return string(b)
		}
		t.chunk = strings.Builder{}
		t.chunk.Grow(size)
		start = 0
	}
	t.chunk.Write(b)
	return t.chunk.String()[start:]
}
