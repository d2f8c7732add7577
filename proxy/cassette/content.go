package cassette

import (
	"bytes"
	"io"
	"iter"
	"os"
	"runtime"
	"slices"
	"sync"
)

// largeFile is the length, in bytes, from which a sealed file stays on the disk and is
// read as it is asked for.
const largeFile = 4 << 20

// longestSealLine bounds the length of the lines between the items, in bytes.
const longestSealLine = 256

// aheadBytes is how much is read at once of a large file that is looked through in its order.
const aheadBytes = 256 << 10

// content is what a sealed file holds. It is safe for concurrent use.
type content struct {
	memory []byte
	large  *largeContent // instead
	size   int
}

// largeContent is what a large file holds.
type largeContent struct {
	file *os.File // the runtime closes it when nothing refers to it

	mu    sync.Mutex // guards what follows
	start int        // the offset of ahead
	ahead []byte     // what was looked at last, and what was read with it
	next  int        // the offset at which a reader goes on that looks at all items in order
}

// openLarge returns the content of a large file of this package; false for any other file. It
// is false on Windows, which does not replace a file that is open, as recorders do.
func openLarge(path string) (content, bool) {
	f, err := os.Open(path)
	if err != nil {
		return content{}, false
	}
	info, err := f.Stat()
	begin := make([]byte, len(headStart))
	if err == nil {
		_, err = f.ReadAt(begin, 0)
	}
	if err != nil || info.Size() < largeFile || !isOurs(begin) || runtime.GOOS == "windows" {
		_ = f.Close() // Open reads it, and says what is wrong
		return content{}, false
	}
	return content{large: &largeContent{file: f}, size: int(info.Size())}, true
}

// readBytes returns the bytes from start to end. They must not be changed.
func (c content) readBytes(start, end int) ([]byte, error) {
	if c.large == nil {
		return c.memory[start:end], nil
	}
	read := make([]byte, end-start)
	if c.large.copyAhead(read, start) {
		return read, nil
	}
	_, err := c.large.file.ReadAt(read, int64(start))
	return read, err
}

// copyAhead copies the bytes from start to read, if all of them were read ahead.
func (l *largeContent) copyAhead(read []byte, start int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if start < l.start || start+len(read) > l.start+len(l.ahead) {
		return false
	}
	copy(read, l.ahead[start-l.start:])
	return true
}

// lookAt calls look with the bytes from start to end, of which it passes the first most. They
// are valid until look returns. Items that are looked at in their order take no new memory.
func (c content) lookAt(start, end, most int, look func([]byte)) error {
	if c.large == nil {
		look(c.memory[start:min(end, start+most)])
		return nil
	}
	return c.large.lookAt(start, end, most, c.size, look)
}

// lookAt looks at bytes of a file that is size long.
func (l *largeContent) lookAt(start, end, most, size int, look func([]byte)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	isNext, looked := start <= l.next+longestSealLine && end >= l.next, min(end, start+most)
	if start < l.start || looked > l.start+len(l.ahead) {
		until := looked
		if isNext {
			until = min(max(looked, start+aheadBytes), size)
		}
		l.start, l.ahead = start, slices.Grow(l.ahead[:0], until-start)[:until-start]
		if _, err := l.file.ReadAt(l.ahead, int64(start)); err != nil {
			l.ahead = l.ahead[:0]
			return err
		}
	}
	l.next = end
	look(l.ahead[start-l.start : looked-l.start])
	if cap(l.ahead) > 2*aheadBytes {
		l.ahead = nil // what a huge request took is not kept
	}
	return nil
}

// readAround returns the line that ends, with its line feed, at a place, and what follows,
// as long as the beginning of an item. Of a long line it returns only a part.
func (c content) readAround(at int) (line, begin []byte, err error) {
	from := max(0, at-longestSealLine)
	read, err := c.readBytes(from, min(at+len(itemStart), c.size))
	if err != nil {
		return nil, nil, err
	}
	line, begin = read[:at-from], read[at-from:]
	return line[lineStart(line, len(line)):], begin, nil
}

// reader reads the whole content.
func (c content) reader() io.Reader {
	if c.large == nil {
		return bytes.NewReader(c.memory)
	}
	return io.NewSectionReader(c.large.file, 0, int64(c.size))
}

// pieces yields the bytes up to end. When reading fails, it ends and stores the error in fault.
func (c content) pieces(end int, fault *error) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for at := 0; at < end; at += 1 << 20 {
			piece, err := c.readBytes(at, min(end, at+1<<20))
			if err != nil {
				*fault = err
				return
			}
			if !yield(piece) {
				return
			}
		}
	}
}
