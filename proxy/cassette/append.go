package cassette

import (
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/internal/terminal"
)

// buffers are what items are written into. Most are of similar size, and each is
// needed briefly.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// takeBuffer returns an empty buffer with room for size bytes.
func takeBuffer(size int) []byte {
	b := *buffers.Get().(*[]byte)
	return slices.Grow(b[:0], size)
}

// giveBuffer takes a buffer back, unless it is very large: those are rare, and not worth the
// memory.
func giveBuffer(b []byte) {
	if cap(b) > 0 && cap(b) <= joined {
		buffers.Put(&b)
	}
}

// entry is an item on its way into the file.
type entry struct {
	item  []byte
	large *Interaction // encoded while it is written, instead of item
	done  bool         // writing was tried; err is the result
	err   error
}

// newEntry returns the entry of an interaction, whose err is set when that cannot be
// stored.
func newEntry(in Interaction) *entry {
	if isLarge(in) && canWriteInPieces(in) {
		return &entry{large: &in}
	}
	item, err := encodeItem(in)
	return &entry{item: item, err: err}
}

// pieces yields the item. A piece is valid until the next one.
func (e *entry) pieces() iter.Seq[[]byte] {
	if e.large != nil {
		return itemPieces(*e.large, pieceSize)
	}
	return slices.Values([][]byte{e.item})
}

// commitEntries writes entries, and returns when each was tried. Of callers that wait at the
// same time, the first writes the entries of all (group commit).
func (w *Writer) commitEntries(mine []*entry) {
	w.queueMu.Lock()
	w.queue = append(w.queue, mine...)
	w.queueMu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(mine) == 0 || mine[len(mine)-1].done {
		return // another call wrote these
	}
	w.queueMu.Lock()
	all := w.queue
	w.queue = nil
	w.queueMu.Unlock()
	w.writeEntries(all)
}

// writeEntries writes a batch. When the disk does not take all of it, each entry
// is tried separately, and those that fit are kept.
func (w *Writer) writeEntries(batch []*entry) {
	err := w.sealEntries(batch)
	for _, e := range batch {
		if e.done, e.err = true, err; err != nil && len(batch) > 1 {
			e.err = w.sealEntries([]*entry{e})
		}
	}
}

// sealEntries writes the entries with their seals.
func (w *Writer) sealEntries(batch []*entry) error {
	last, n := w.last, w.count
	err := w.appendPieces(func(yield func([]byte) bool) {
		for _, e := range batch {
			h, size := last.newHash(), 0
			for piece := range e.pieces() {
				_, _ = h.Write(piece)
				if size += len(piece); !yield(piece) {
					return
				}
			}
			last = seal(h.Sum(nil))
			if !yield([]byte(sealLine(n, size, last))) {
				return
			}
			n++
		}
	})
	if err != nil {
		return err
	}
	w.last, w.count = last, n
	return nil
}

// encodeItem returns the item for in, after reading it back.
func encodeItem(in Interaction) ([]byte, error) {
	if err := checkTimeline(in.Timeline, len(in.Response.Body)); err != nil {
		return nil, err
	}
	item := appendItem(takeBuffer(bodySize(in.Request.Body)+bodySize(in.Response.Body)+4096+len(in.Timeline)*8), in)
	back, err := decodeLike(item, in)
	if err != nil {
		return nil, err
	}
	if part := firstDifference(in, back); part != "" {
		return nil, fmt.Errorf("its %s would change", part)
	}
	return item, nil
}

// appendPieces appends pieces, to be synced soon. A piece may change after the next one
// was asked for. On failure it truncates the file to what was complete before; when that
// fails too, nothing more is written.
func (w *Writer) appendPieces(pieces iter.Seq[[]byte]) error {
	if w.file == nil {
		return w.closedError()
	}
	if w.syncErr != nil {
		return w.brokenError(w.syncErr)
	}
	end, err := w.writePieces(pieces)
	if err == nil {
		w.size = end
		w.syncSoon()
		return nil
	}
	if w.file.Truncate(w.size) != nil {
		_ = w.file.Close()
		w.file = nil
		return w.brokenError(err)
	}
	return newError(w.path, err, "cannot be written (%s)", firstLine(fileutil.Reason(err)))
}

func (w *Writer) brokenError(err error) error {
	return newError(w.path, err, "cannot be written any more (%s); run: recorder recover %s", firstLine(fileutil.Reason(err)), terminal.ShellWord(w.path))
}

// syncDelay is the longest time for which what was written may be missing on the
// disk. Syncing less often leaves more of the disk to others.
const syncDelay = 100 * time.Millisecond

// syncSoon makes sure that what was written is synced within syncDelay.
func (w *Writer) syncSoon() {
	if w.syncTimer == nil {
		w.syncTimer = time.AfterFunc(syncDelay, w.syncWritten)
	}
}

// syncWritten syncs without keeping others from writing.
func (w *Writer) syncWritten() {
	w.mu.Lock()
	w.syncTimer = nil // what is written from now on needs another sync
	file := w.file
	w.mu.Unlock()
	if file == nil {
		return
	}
	err := file.Sync()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && file == w.file {
		w.syncErr = err
	}
}

// syncNow syncs and ends the waiting for a sync.
func (w *Writer) syncNow() error {
	if w.syncTimer != nil {
		w.syncTimer.Stop()
		w.syncTimer = nil
	}
	if w.syncErr == nil {
		w.syncErr = w.file.Sync()
	}
	if w.syncErr != nil {
		return w.brokenError(w.syncErr)
	}
	return nil
}

// writePieces writes pieces after the complete part and returns where they end.
// Small pieces are joined, large ones are not copied.
func (w *Writer) writePieces(pieces iter.Seq[[]byte]) (end int64, err error) {
	end = w.size
	flush := func(b []byte) {
		if len(b) > 0 && err == nil {
			_, err = w.file.WriteAt(b, end)
			end += int64(len(b))
		}
	}
	w.joinBuffer = w.joinBuffer[:0]
	for b := range pieces {
		if len(b) < joined {
			w.joinBuffer = append(w.joinBuffer, b...)
		}
		if len(b) >= joined || len(w.joinBuffer) >= joined {
			flush(w.joinBuffer)
			w.joinBuffer = w.joinBuffer[:0]
		}
		if len(b) >= joined {
			flush(b)
		}
		if err != nil {
			return end, err
		}
	}
	flush(w.joinBuffer)
	return end, err
}

// joined is the size from which a piece is written separately, in bytes.
const joined = 256 << 10
