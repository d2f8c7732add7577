package cassette

import (
	"bytes"
	"io"
	"iter"
	"os"
	"runtime"
	"sync"
)

// largeFile is the length, in bytes, from which a sealed file stays on the disk and is
// read as it is asked for.
const largeFile = 4 << 20

// longestSealLine bounds the lines that are not part of items.
const longestSealLine = 256

// aheadBytes is how much is read at once of a large file that is read in its order.
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

	mu    sync.Mutex
	start int    // of ahead
	ahead []byte // read last; never changed
	next  int    // where a reader goes on that reads all in its order
}

// openLarge returns the content of a large file of this package; false for any other file.
// Windows does not replace files that are open, and recorders do.
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
	return c.large.readBytes(start, end, c.size)
}

// readBytes returns bytes of a file that is size long. They must not be changed.
func (l *largeContent) readBytes(start, end, size int) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	isNext := start <= l.next+longestSealLine && end >= l.next && end-start < aheadBytes
	l.next = end
	if start >= l.start && end <= l.start+len(l.ahead) {
		return l.ahead[start-l.start : end-l.start : end-l.start], nil
	}
	until := end
	if isNext {
		until = min(max(end, start+aheadBytes), size)
	}
	read := make([]byte, until-start)
	if _, err := l.file.ReadAt(read, int64(start)); err != nil {
		return nil, err
	}
	if isNext {
		l.start, l.ahead = start, read
	}
	return read[: end-start : end-start], nil
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

// pieces yields the bytes up to end. It stores a fault of reading in fault and ends.
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
