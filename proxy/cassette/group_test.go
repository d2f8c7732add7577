package cassette

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// create starts a cassette in a folder of its own.
func create(t *testing.T) *Writer {
	t.Helper()
	w, err := Create(filepath.Join(t.TempDir(), "x.yaml"), testMeta, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// writes counts them.
type writes struct {
	journal
	n int
}

func (s *writes) WriteAt(p []byte, at int64) (int, error) {
	s.n++
	return s.journal.WriteAt(p, at)
}

// The order given is the order kept; what cannot be stored costs the others
// nothing.
func TestAppendAll(t *testing.T) {
	w := create(t)
	counted := &writes{journal: w.file}
	w.file = counted
	all := samples()
	bad := all[0]
	bad.Timeline = []Chunk{{Length: 1}}
	errs := w.AppendAll([]Interaction{all[0], bad, all[1], all[2]})
	for i, err := range errs {
		if (err != nil) != (i == 1) || i == 1 && !errors.Is(err, ErrInteraction) {
			t.Errorf("interaction %d: %v", i, err)
		}
	}
	if len(w.AppendAll(nil)) != 0 || counted.n != 1 {
		t.Errorf("%d writes, want one for all", counted.n)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := Open(w.path)
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, readAll(t, c), []Interaction{all[0], all[1], all[2]})
}

// badSync is a disk that takes what is written and cannot keep it.
type badSync struct {
	journal
	synced chan struct{} // closed by the first sync
	once   sync.Once
}

func (s *badSync) Sync() error {
	s.once.Do(func() { close(s.synced) })
	return errFull
}

// What was written is synced without anybody waiting for it. When that fails,
// nothing more is taken, Close says so, and what is in the file stays.
func TestSyncThatFails(t *testing.T) {
	w := create(t)
	bad := &badSync{journal: w.file, synced: make(chan struct{})}
	w.file = bad
	if err := w.Append(samples()[0]); err != nil {
		t.Fatal(err)
	}
	<-bad.synced
	for err := error(nil); err == nil; {
		err = w.Append(samples()[1]) // until the error is noted
	}
	want := w.path + ": cannot be written any more (no space left on device); run: recorder recover " + w.path
	if err := w.Close(); err == nil || err.Error() != want {
		t.Errorf("Close = %v, want %s", err, want)
	}
	if _, err := os.Stat(partialPath(w.path)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(w.path); err == nil {
		t.Error("it has its name")
	}
}

// Large items are written without being joined to the others, in the same order.
func TestLargeAndSmallItemsInOneWrite(t *testing.T) {
	w := create(t)
	var ins []Interaction
	for _, n := range []int{10, 2 * joined, 20, joined - 1, joined, 3 * joined, 5} {
		in := samples()[0]
		in.Response.Body, in.Timeline = []byte(strings.Repeat("data: {}\n\n", n/10+1)), nil
		ins = append(ins, in)
	}
	for i, err := range w.AppendAll(ins) {
		if err != nil {
			t.Errorf("interaction %d: %v", i, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := Open(w.path)
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, readAll(t, c), ins)
}

// full is a file on a disk that has room for so many bytes.
type full struct {
	journal
	room int64
}

var errFull = &fs.PathError{Op: "write", Path: "x", Err: errors.New("no space left on device")}

func (f *full) WriteAt(p []byte, at int64) (int, error) {
	if fits := max(f.room-at, 0); int64(len(p)) > fits {
		n, _ := f.journal.WriteAt(p[:fits], at)
		return n, errFull
	}
	return f.journal.WriteAt(p, at)
}

// A disk that fills up in the middle of a batch takes what fits: the small ones
// are kept, those that do not fit are told, and the file is whole.
func TestDiskFillsUpInABatch(t *testing.T) {
	w := create(t)
	w.file = &full{journal: w.file, room: w.size + 8<<10}
	small, large := samples()[0], samples()[0]
	large.Response.Body, large.Timeline = []byte(strings.Repeat("data: {}\n\n", 1<<10)), nil
	errs := w.AppendAll([]Interaction{small, large, small, large})
	for i, err := range errs {
		if (err != nil) != (i%2 == 1) {
			t.Errorf("interaction %d: %v", i, err)
		}
	}
	if want := w.path + ": cannot be written (no space left on device)"; errs[1].Error() != want {
		t.Errorf("error %q, want %q", errs[1], want)
	}
	w.file = w.file.(*full).journal
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := Open(w.path)
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, readAll(t, c), []Interaction{small, small})
}
