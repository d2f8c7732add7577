package record

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

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
