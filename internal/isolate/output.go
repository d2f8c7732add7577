package isolate

import (
	"io"
	"sync"
)

// boundedBuffer keeps what is written to it up to a limit and drops the rest. It
// never fails, so a process that floods its output goes on.
type boundedBuffer struct {
	mu        sync.Mutex
	limit     int64
	kept      []byte
	truncated bool
	// copyTo, if not nil, receives everything until its reader has left.
	copyTo *io.PipeWriter
}

func (b *boundedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	room := min(b.limit-int64(len(b.kept)), int64(len(data)))
	b.kept = append(b.kept, data[:room]...)
	b.truncated = b.truncated || room < int64(len(data))
	b.mu.Unlock()
	if b.copyTo != nil {
		_, _ = b.copyTo.Write(data)
	}
	return len(data), nil
}

// keptBytes returns what was kept, and whether there was more. Nothing may be
// written any more.
func (b *boundedBuffer) keptBytes() (kept []byte, truncated bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept, b.truncated
}
