package cassette

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// A large file is read from the disk as it is asked for, and says what it said in memory.
func TestLargeFileStaysOnDisk(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not replace files that are open")
	}
	path := large(t, 600)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	inMemory, err := Parse(path, data)
	if err != nil {
		t.Fatal(err)
	}
	onDisk, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if onDisk.data.large == nil || onDisk.Len() != 600 || onDisk.Digest() != inMemory.Digest() ||
		onDisk.StrictHead() != nil {
		t.Fatalf("%d interactions, digest %s, want %s from the disk", onDisk.Len(), onDisk.Digest(), inMemory.Digest())
	}
	for i := range inMemory.Len() {
		want, _ := inMemory.At(i)
		if got, err := onDisk.Strict(i); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("interaction %d: %v, differs from the one in memory", i, err)
		}
		if got, err := onDisk.Asked(i, nil); err != nil || got.URL != want.Request.URL ||
			string(got.Body) != string(want.Request.Body) {
			t.Fatalf("request %d: %v, differs from the one in memory", i, err)
		}
	}
	extended, err := Extend(path, onDisk.Meta())
	if err != nil {
		t.Fatal(err)
	}
	if err := extended.Discard(); err != nil {
		t.Fatal(err)
	}
}

// What changes in a large file after it was opened is noticed where it is read.
func TestLargeFileIsDamagedLater(t *testing.T) {
	path := large(t, 600)
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteAt([]byte("x"), int64(c.spans[300].start+900)); err != nil {
		t.Fatal(err)
	}
	for i, isDamaged := range map[int]bool{299: false, 300: runtime.GOOS != "windows", 301: false} {
		if _, err := c.At(i); errors.Is(err, ErrDamaged) != isDamaged {
			t.Errorf("interaction %d: %v", i, err)
		}
	}
	if err := f.Truncate(int64(c.spans[500].start)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.At(550); (err == nil) != (runtime.GOOS == "windows") || err != nil &&
		!(errors.Is(err, ErrDamaged) && strings.Contains(err.Error(), "was made shorter while it was read")) {
		t.Errorf("an interaction that is gone: %v", err)
	}
	if _, err := Open(path); !errors.Is(err, ErrTorn) {
		t.Errorf("opened again: %v, want %v", err, ErrTorn)
	}
}

// Several goroutines may read one large file: what one of them looks at is not read over by
// another.
func TestLargeFileForSeveralReaders(t *testing.T) {
	path := large(t, 600)
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for reader := range 4 {
		wg.Go(func() {
			for i := range c.Len() {
				at := (i + reader*150) % c.Len()
				asked, err := c.Asked(at, nil)
				in, errAt := c.At(at)
				if err != nil || errAt != nil || asked.URL != in.Request.URL ||
					!bytes.Equal(asked.Body, in.Request.Body) {
					t.Errorf("interaction %d: %v, %v, read as %.60q", at, err, errAt, asked.Body)
				}
			}
		})
	}
	wg.Wait()
}

// A huge reply takes memory once, in each of the ways in which text is written, and none while
// its request is looked at.
func TestHugeReplyIsInMemoryOnce(t *testing.T) {
	bodies := largeBodies()
	delete(bodies, "binary") // base64 is decoded to other memory
	for name, body := range bodies {
		in := samples()[0]
		in.Response.Body, in.Timeline, in.Drained = []byte(strings.Repeat(body, 2)), nil, 0
		path := filepath.Join(t.TempDir(), "x.yaml")
		w, err := Create(path, Meta{Provenance: ProvenanceSynthetic}, CreateOptions{})
		if err := errors.Join(err, w.Append(in), w.Close()); err != nil {
			t.Fatal(err)
		}
		c, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for what, bound := range map[string]struct {
			read func() error
			most float64 // × the size of the file
		}{
			"request": {func() error { _, err := c.Asked(0, nil); return err }, 0.1},
			"item":    {func() error { _, err := c.At(0); return err }, 1.1},
			"check":   {func() error { _, err := c.Strict(0); return err }, 1.3},
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := bound.read()
			runtime.ReadMemStats(&after)
			took := float64(after.TotalAlloc-before.TotalAlloc) / float64(c.data.size)
			if err != nil || took > bound.most {
				t.Errorf("%s, %s: %.2f × the size, %v", name, what, took, err)
			}
		}
	}
}

// What was read ahead to look at requests is not read again.
func TestReadAheadServesItems(t *testing.T) {
	c, err := Open(large(t, 600))
	if err != nil {
		t.Fatal(err)
	}
	if c.data.large == nil {
		t.Skip("the file is in memory")
	}
	if _, err := c.Asked(0, nil); err != nil {
		t.Fatal(err)
	}
	_ = c.data.large.file.Close()
	if in, err := c.At(1); err != nil || len(in.Response.Body) == 0 {
		t.Errorf("read ahead: %v", err)
	}
	if _, err := c.At(599); err == nil {
		t.Error("a closed file was read")
	}
}
