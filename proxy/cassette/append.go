package cassette

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/internal/terminal"
)

// entry is an item on its way into the file: the pieces of it, each valid until the next one, and why
// it is not in the file, which may turn out while the pieces are read.
type entry struct {
	pieces iter.Seq[[]byte]
	err    error
}

// newEntry returns the entry of an interaction, whose err is set when that cannot be stored. A small item
// is kept as it was encoded for that check, a large one is encoded again while it is written.
func newEntry(in Interaction) *entry {
	var item []byte
	part, err := changedPart(in, len(in.Response.Body))
	isSmall := len(in.Request.Body)+len(in.Response.Body) <= pieceSize
	if isSmall {
		item = make([]byte, 0, 4096+2*(len(in.Request.Body)+len(in.Response.Body)+len(in.Timeline)))
	}
	for piece := range itemPieces(in, pieceSize, &part) {
		if isSmall {
			item = append(item, piece...)
		}
	}
	switch {
	case err != nil:
		return &entry{err: err}
	case part != "":
		return &entry{err: fmt.Errorf("its %s would change", part)}
	case isSmall:
		return writtenEntry(item)
	}
	return &entry{pieces: itemPieces(in, pieceSize, nil)}
}

// writtenEntry returns the entry of an item that is written already.
func writtenEntry(item []byte) *entry { return &entry{pieces: slices.Values([][]byte{item})} }

// writeEntries writes a batch. When the disk does not take all of it, each entry
// is tried separately, and those that fit are kept.
func (w *Writer) writeEntries(batch []*entry) {
	err := w.sealEntries(batch)
	for _, e := range batch {
		if err != nil && len(batch) > 1 {
			e.err = w.sealEntries([]*entry{e})
		} else {
			e.err = err
		}
	}
}

// sealEntries writes the entries with their seals.
func (w *Writer) sealEntries(batch []*entry) error {
	last, n, size := w.last, w.count, w.size
	err := w.appendPieces(func(yield func([]byte) bool) {
		for _, e := range batch {
			h, size := last.newHash(), 0
			for piece := range e.pieces {
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
	for _, e := range batch {
		if e.err != nil {
			w.size = size // the next item overwrites this one
			return errors.Join(e.err, w.file.Truncate(size))
		}
	}
	w.last, w.count = last, n
	return nil
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
