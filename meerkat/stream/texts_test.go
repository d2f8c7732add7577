package stream

import (
	"bytes"
	"fmt"
	"testing"
)

func TestTextsKeepEveryString(t *testing.T) {
	var kept stringPool
	var want, got []string
	buf := make([]byte, 0, 3*maxChunk)
	for i := range 2000 {
		buf = fmt.Appendf(buf[:0], "%d", i)
		buf = append(buf, bytes.Repeat([]byte{'x'}, i*i%(3*maxChunk-8))...)
		want, got = append(want, string(buf)), append(got, kept.copyString(buf))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("string %d of %d bytes has changed", i, len(want[i]))
		}
	}
}

func TestTextsAllocateChunks(t *testing.T) {
	b := []byte("toolu_0123456789")
	allocs := testing.AllocsPerRun(10, func() {
		var kept stringPool
		for range 1000 {
			kept.copyString(b)
		}
	})
	if allocs > 10 {
		t.Errorf("%.0f allocations for 1000 small strings, want at most 10", allocs)
	}
}
