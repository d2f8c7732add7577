package record

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"

	"github.com/meerkat-go/conformance/internal/fileutil"
)

const (
	// inMemory is how many bytes of a body stay in memory before it is written
	// to disk. Almost every body is smaller.
	inMemory = 256 << 10
	// spoolBlock is the unit written to disk, a multiple of the cipher's.
	spoolBlock = 64 << 10
)

// spool collects a body of any size in little memory: the rest goes to a
// temporary file without a name, encrypted, so that nothing reaches the disk
// unredacted. Writing never fails: without a disk the body stays in memory, and
// when spillQuota is used up it is given up, unless it is required. Methods are
// not safe for concurrent use.
type spool struct {
	from      *spooler
	nonce     [8]byte
	limit     int // of mem, before some of it is written to file
	mem       []byte
	file      *os.File
	stored    int64 // bytes in file, whole blocks
	size      int64
	required  bool  // the body is never given up
	spillErr  error // why the disk takes no more
	quotaHeld int64 // how many bytes of mem are counted in from.quotaUsed
	lost      bool  // the body was given up
}

// reserveMemory allocates memory for a body of an announced length. The body may be of
// another length.
func (s *spool) reserveMemory(length int64) {
	if length > 0 {
		s.mem = make([]byte, 0, min(length, inMemory))
	}
}

func (s *spool) Write(p []byte) (int, error) {
	s.size += int64(len(p))
	if s.lost {
		return len(p), nil
	}
	if s.mem == nil {
		s.mem = make([]byte, 0, 2*len(p)) // the first piece is often all but the end
	}
	s.mem = append(s.mem, p...)
	if len(s.mem) >= s.limit {
		s.spillErr = s.spillBlocks()
	}
	if s.spillErr != nil {
		s.limit = math.MaxInt

		// What is in memory because the disk takes no more is counted, and the body is given up when that
		// exceeds spillQuota.
		more := int64(len(s.mem)) - s.quotaHeld
		s.quotaHeld += more
		if s.from.quotaUsed.Add(more) > spillQuota && !s.required {
			s.from.quotaUsed.Add(-s.quotaHeld)
			s.mem, s.quotaHeld, s.lost = nil, 0, true
		}
	}
	return len(p), nil
}

// tail returns p, which was written last, in memory that does not change.
func (s *spool) tail(p []byte) []byte {
	if len(s.mem) < len(p) || s.stored > 0 {
		return bytes.Clone(p)
	}
	return s.mem[len(s.mem)-len(p):]
}

// copyBuffers are the buffers that bodies pass through.
var copyBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// cipherBuffers are the buffers for one encrypted block.
var cipherBuffers = sync.Pool{New: func() any { return new([spoolBlock]byte) }}

// spillBlocks moves whole blocks to the file. What cannot be moved stays in
// memory.
func (s *spool) spillBlocks() (err error) {
	if s.file == nil {
		if s.file, err = s.from.acquire(); err != nil {
			return err
		}
		_, _ = rand.Read(s.nonce[:]) // never fails, by its own contract
	}
	s.limit = spoolBlock
	encrypted := cipherBuffers.Get().(*[spoolBlock]byte)
	defer cipherBuffers.Put(encrypted)
	rest := s.mem
	for len(rest) >= spoolBlock {
		s.keyStream(s.stored).XORKeyStream(encrypted[:], rest[:spoolBlock])
		if _, err = s.file.WriteAt(encrypted[:], s.stored); err != nil {
			break
		}
		s.stored, rest = s.stored+spoolBlock, rest[spoolBlock:]
	}
	if cap(s.mem) > 2*spoolBlock {
		s.mem = make([]byte, 0, 2*spoolBlock)
	}
	s.mem = append(s.mem[:0], rest...)
	return err
}

// keyStream returns the key stream from offset.
func (s *spool) keyStream(offset int64) cipher.Stream {
	iv := append(s.nonce[:], 0, 0, 0, 0, 0, 0, 0, 0)
	binary.BigEndian.PutUint64(iv[8:], uint64(offset/aes.BlockSize)) //nolint:gosec // never negative
	stream := cipher.NewCTR(s.from.cipher, iv)
	var skipped [aes.BlockSize]byte
	stream.XORKeyStream(skipped[:offset%aes.BlockSize], skipped[:offset%aes.BlockSize])
	return stream
}

// readAt reads from an offset, which is below size: at least one byte, and no more than p holds.
func (s *spool) readAt(p []byte, at int64) (int, error) {
	if at >= s.stored {
		return copy(p, s.mem[at-s.stored:]), nil
	}
	p = p[:min(int64(len(p)), s.stored-at)]
	if _, err := s.file.ReadAt(p, at); err != nil {
		return 0, fmt.Errorf("the spooled body cannot be read back: %w", err)
	}
	s.keyStream(at).XORKeyStream(p, p)
	return len(p), nil
}

// readAll returns the whole body.
func (s *spool) readAll() ([]byte, error) {
	if s.lost {
		return nil, fmt.Errorf("the temporary folder %s takes no more of the body (%w)", os.TempDir(),
			fileutil.Reason(s.spillErr))
	}
	if s.stored == 0 {
		return s.mem, nil
	}
	body := make([]byte, s.size)
	for n := 0; n < len(body); {
		m, err := s.readAt(body[n:], int64(n))
		if err != nil {
			return nil, err
		}
		n += m
	}
	return body, nil
}

// close frees what s holds; s is empty then.
func (s *spool) close() {
	if s.file != nil {
		s.from.release(s.file, s.stored)
	}
	s.from.quotaUsed.Add(-s.quotaHeld)
	*s = spool{from: s.from, limit: inMemory}
}

// spooler makes spools. They share one key, which exists in memory only, and
// files: overwriting a file is several times faster than growing a new one.
type spooler struct {
	cipher cipher.Block

	quotaUsed atomic.Int64 // bytes of all spools that are in memory because the disk took no more

	mu   sync.Mutex
	idle []*os.File
}

// spillQuota is how many bytes of all spools may stay in memory when the disk
// takes no more.
const spillQuota = 32 << 20

// idleFiles is how many files are kept for reuse, each of at most idleLength
// bytes. Their old content can no longer be read: every body has its own nonce.
const (
	idleFiles  = 8
	idleLength = 64 << 20
)

func newSpooler() (*spooler, error) {
	key := make([]byte, 16)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("spool key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("spool key: %w", err)
	}
	return &spooler{cipher: block}, nil
}

func (f *spooler) newSpool() *spool { return &spool{from: f, limit: inMemory} }

// acquire returns a file without a name.
func (f *spooler) acquire() (*os.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.idle); n > 0 {
		file := f.idle[n-1]
		f.idle = f.idle[:n-1]
		return file, nil
	}
	file, err := openUnnamed(os.TempDir())
	if err == nil {
		return file, nil
	}
	if file, err = os.CreateTemp("", "recorder-*"); err == nil {
		_ = os.Remove(file.Name()) // where the system refuses, discardFile removes it
	}
	return file, err
}

// release takes back a file that holds length bytes.
func (f *spooler) release(file *os.File, length int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.idle) < idleFiles && length <= idleLength {
		f.idle = append(f.idle, file)
		return
	}
	discardFile(file)
}

func (f *spooler) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, file := range f.idle {
		discardFile(file)
	}
	f.idle = nil
}

func discardFile(file *os.File) {
	_ = file.Close()
	if name := file.Name(); name != "" {
		_ = os.Remove(name)
	}
}
