package cassette

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/internal/terminal"
)

// Open reads the cassette at path. A sealed file is only indexed: its
// interactions are verified and decoded when they are asked for, and those of a large
// file are read from the disk only then. The error is ErrBusy while its first recording
// continues, and ErrTorn when that was interrupted.
func Open(path string) (*Cassette, error) {
	if err := checkRegularFile(path); err != nil {
		return nil, err
	}
	if large, ok := openLarge(path); ok {
		c := &Cassette{name: path}
		if err := c.parseOurs(large); err != nil {
			return nil, err
		}
		return c, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, perr := os.Lstat(partialPath(path)); perr == nil {
			return nil, cmp.Or(unlessBusy(path),
				newError(path, ErrTorn, "was never finished; run: recorder recover %s", terminal.ShellWord(path)))
		}
	}
	return parseRead(path, data, err)
}

// OpenFS is Open for a file system.
func OpenFS(fsys fs.FS, name string) (*Cassette, error) {
	data, err := fs.ReadFile(fsys, name)
	return parseRead(name, data, err)
}

func parseRead(name string, data []byte, err error) (*Cassette, error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, newError(name, fs.ErrNotExist,
			"does not exist; record it first with: recorder record --cassette %s", terminal.ShellWord(name))
	case err != nil:
		return nil, readError(name, err)
	}
	return Parse(name, data)
}

// Parse is Open for bytes. The cassette keeps data, which must not change. name is for
// errors.
func Parse(name string, data []byte) (*Cassette, error) {
	if len(data) == 0 {
		return nil, newError(name, ErrEmpty, "is empty; record it again")
	}
	c := &Cassette{name: name}
	var err error
	if isOurs(data) {
		err = c.parseOurs(content{memory: data, size: len(data)})
	} else {
		c.meta = Meta{Provenance: ProvenanceImport}
		if len(data) < largeForeign || !c.splitForeign(data) {
			c.parsed, err = parseForeign(name, data)
		}
		c.sum = sha256.Sum256(data)
	}
	if err == nil && c.Len() == 0 {
		err = newError(name, ErrEmpty, "holds no interactions; record it again")
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Cassette) parseOurs(data content) (err error) {
	if data.size < len(headStart) {
		return tornError(c.name)
	}
	if c.head, err = readHead(bufio.NewReaderSize(data.reader(), 4<<10)); err != nil {
		return readError(c.name, err)
	}
	var length int
	if c.meta, length, err = parseHead(c.name, c.head); err != nil {
		return err
	}
	c.data, c.head = data, c.head[:length]
	if c.close, _, err = data.readAround(data.size); err != nil {
		return readError(c.name, err)
	}
	c.spans, c.end, err = indexItems(c.name, data, c.head, c.close)
	return err
}

// checkRegularFile returns an error when path exists and is not a regular file. Other errors
// are left to the reading of the file.
func checkRegularFile(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return newError(path, ErrFormat, "cannot be read (is a directory); name a file in it")
	}
	if err == nil && !info.Mode().IsRegular() {
		return newError(path, ErrFormat, "cannot be read (is not a regular file); name a file")
	}
	return nil
}

// Cassette is a recording opened for reading. It is immutable and safe for
// concurrent use. What its methods return belongs to the caller.
type Cassette struct {
	name string
	meta Meta

	// of a sealed file
	data  content
	head  []byte
	spans []span
	end   closing // what close says
	close []byte  // the closing line

	// of a file without seals
	parsed []Interaction
	items  [][]byte // of a large file, instead of parsed: the texts of its items
	sum    [sha256.Size]byte
}

// Name returns the name the cassette was opened by.
func (c *Cassette) Name() string { return c.name }

// Meta returns what the file says about itself. For a file that says nothing, it
// is only the provenance "import".
func (c *Cassette) Meta() Meta {
	m := c.meta
	m.Redaction, m.Matching, m.Declared = slices.Clone(m.Redaction), slices.Clone(m.Matching), slices.Clone(m.Declared)
	return m
}

// Sealed reports whether this package wrote the file completely, so that Verify
// can detect any changed byte.
func (c *Cassette) Sealed() bool { return c.head != nil }

// Len returns the number of interactions.
func (c *Cassette) Len() int { return len(c.spans) + len(c.parsed) + len(c.items) }

// At returns interaction i, 0 ≤ i < Len, after checking its seal. The error is
// ErrDamaged when the bytes are not the ones that were recorded.
func (c *Cassette) At(i int) (Interaction, error) {
	switch {
	case c.items != nil:
		return decodeForeignItem(c.items[i])
	case !c.Sealed():
		return c.parsed[i].clone(), nil
	}
	item, err := c.sealedItem(i)
	if err != nil {
		return Interaction{}, err
	}
	if c.data.large != nil { // the item was read for this call alone
		if in, ok := decodeOwned(item); ok && takeReserved(&in) == nil {
			return in, nil
		}
		if item, err = c.sealedItem(i); err != nil {
			return Interaction{}, err
		}
	}
	in, err := decodeAnyItem(item)
	if err != nil {
		return Interaction{}, damagedAt(c.name, i)
	}
	return in, nil
}

// sealedItem returns the bytes of item i, after checking them against its seal and the
// one before it as written there.
func (c *Cassette) sealedItem(i int) ([]byte, error) {
	s, from := c.spans[i], c.spans[i].start
	if i > 0 {
		from = c.spans[i-1].seal
	}
	read, err := c.data.readBytes(from, s.end)
	if err != nil {
		return nil, readError(c.name, err)
	}
	var before seal
	if i == 0 {
		before = sha256.Sum256(c.head)
	} else {
		_, _, before, _ = readSeal(read[:s.start-from])
	}
	item := read[s.start-from : s.seal-from]
	if string(read[s.seal-from:]) != sealLine(i, len(item), before.nextSeal(item)) {
		return nil, damagedAt(c.name, i)
	}
	return item, nil
}

// All yields every interaction in recorded order. A damaged interaction is
// yielded as an error and does not end the sequence.
func (c *Cassette) All() iter.Seq2[Interaction, error] {
	return func(yield func(Interaction, error) bool) {
		for i := range c.Len() {
			if !yield(c.At(i)) {
				return
			}
		}
	}
}

// WebSockets yields the interactions that came by WebSockets, as All does. The others are not
// decoded and their seals are not checked, so that a large cassette without any is quickly
// looked through.
func (c *Cassette) WebSockets() iter.Seq2[Interaction, error] {
	return func(yield func(Interaction, error) bool) {
		for i := range c.Len() {
			if !c.mayHaveWebSocket(i) {
				continue
			}
			if in, err := c.At(i); (err != nil || in.WebSocket != 0) && !yield(in, err) {
				return
			}
		}
	}
}

// mayHaveWebSocket reports whether interaction i names the header that says so, be it in a
// body.
func (c *Cassette) mayHaveWebSocket(i int) (may bool) {
	if !c.Sealed() {
		return true
	}
	s := c.spans[i]
	err := c.data.lookAt(s.start, s.seal, s.seal-s.start,
		func(item []byte) { may = bytes.Contains(item, []byte(hdrWebSocket)) })
	return may || err != nil
}

func (in Interaction) clone() Interaction {
	in.Request.Header = in.Request.Header.Clone()
	in.Request.Body = slices.Clone(in.Request.Body)
	in.Response.Header = in.Response.Header.Clone()
	in.Response.Body = slices.Clone(in.Response.Body)
	in.Response.Trailer = in.Response.Trailer.Clone()
	in.Timeline = slices.Clone(in.Timeline)
	return in
}

// Request returns the request of interaction i without reading its response or
// checking its seal: enough to index a large cassette by its requests. At still
// refuses a damaged interaction.
func (c *Cassette) Request(i int) (Request, error) {
	if c.parsed != nil {
		return c.parsed[i].clone().Request, nil
	}
	r, ok := c.peekRequest(i, decodeRequest)
	if ok {
		return r, nil
	}
	in, err := c.At(i)
	return in.Request, err
}

// peekRequest decodes the request of a sealed item where it lies. What it cannot read,
// At reads, or says why not.
func (c *Cassette) peekRequest(i int, decode func(item []byte) (Request, bool)) (r Request, ok bool) {
	if !c.Sealed() {
		return r, false
	}
	s := c.spans[i]
	for _, most := range []int{aheadBytes, s.seal - s.start} { // the reply, which follows, may be huge
		err := c.data.lookAt(s.start, s.seal, most, func(item []byte) { r, ok = decode(item) })
		if ok || err != nil || most >= s.seal-s.start {
			return r, ok && err == nil
		}
	}
	return r, false
}

// Asked is Request without header and protocol, which are rarely needed to find
// a request. The body is written over room when that is large enough, so that a
// large cassette can be read in little memory.
func (c *Cassette) Asked(i int, room []byte) (Request, error) {
	r, ok := c.peekRequest(i, func(item []byte) (Request, bool) {
		cur, in := &cursor{b: item, ok: true, scratch: room, skipHeaders: true}, Interaction{}
		cur.readRequest(&in)
		return in.Request, cur.ok
	})
	if ok {
		return r, nil
	}
	r, err := c.Request(i)
	return Request{Method: r.Method, URL: r.URL, Body: r.Body}, err
}

// Verify checks every byte of the cassette at path against its seals, and that
// every interaction decodes. The error is ErrUnsealed for a file of another
// tool.
func Verify(path string) error {
	c, err := Open(path)
	if err != nil {
		return err
	}
	return c.Verify()
}

// Verify is the function Verify for an open cassette.
func (c *Cassette) Verify() error {
	if !c.Sealed() {
		return newError(c.name, ErrUnsealed,
			"has no seals to verify, another tool wrote it; record it again with recorder to have them")
	}
	for _, err := range c.All() {
		if err != nil {
			return err
		}
	}
	return nil
}

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

// The words that a Digest begins with.
const (
	digestSealed = "sealed:"
	digestSHA256 = "sha256:"
)

// Digest identifies the content of the cassette without reading it: the word "sealed:" or
// "sha256:", and hexadecimal digits. For a sealed file they are its closing seal, which
// depends on every byte before it: At checks one interaction against it, Verify all of them.
// For any other file they are its SHA-256.
func (c *Cassette) Digest() string {
	if !c.Sealed() {
		return digestSHA256 + hex.EncodeToString(c.sum[:])
	}
	// The form of the closing line was checked when the file was opened.
	return digestSealed + strings.TrimSpace(string(c.close[bytes.LastIndexByte(c.close, ' '):]))
}

// StrictHead returns an error when the head is not exactly what this package
// would write for its content (pitfall V6): unknown keys, another order or
// style, an invalid provenance or time. A file without seals has no such head.
func (c *Cassette) StrictHead() error {
	if !c.Sealed() {
		return nil
	}
	if p := c.meta.invalidReason(); p != "" {
		return newError(c.name, ErrFormat, "%s; record it again", p)
	}
	if _, err := time.Parse(time.RFC3339, c.meta.Created); c.meta.Created != "" && err != nil {
		return newError(c.name, ErrFormat, "created %q is not a time in RFC 3339; record it again", c.meta.Created)
	}
	if !bytes.Equal(encodeHead(c.meta), c.head) {
		return newError(c.name, ErrFormat, "its head holds what format %d does not have; record it again",
			c.meta.Version)
	}
	return nil
}

// Strict is At, with an error when the item is not exactly what this package
// would write for its content: what a lenient reader would ignore.
func (c *Cassette) Strict(i int) (Interaction, error) {
	in, err := c.At(i)
	if err != nil || !c.Sealed() {
		return in, err
	}
	if !c.isWrittenAt(c.spans[i], in) {
		return in, newError(c.name, ErrFormat, "interaction %d holds what format %d does not have; record it again", i,
			c.meta.Version)
	}
	return in, nil
}

// isWrittenAt reports whether an item is what this package writes of an interaction. It
// compares a piece at a time, because the interaction is in memory already.
func (c *Cassette) isWrittenAt(s span, in Interaction) bool {
	at := s.start
	for piece := range itemPieces(in, pieceSize, nil) {
		end, isSame := at+len(piece), false
		if end > s.seal {
			return false
		}
		err := c.data.lookAt(at, end, len(piece), func(written []byte) { isSame = bytes.Equal(written, piece) })
		if err != nil || !isSame {
			return false
		}
		at = end
	}
	return at == s.seal
}
