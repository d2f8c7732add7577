package cassette

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func sum(b []byte) seal { return sha256.Sum256(b) }

// A file cut at any byte is refused, and what Recover keeps of it is whole.
func TestTornAtEveryByte(t *testing.T) {
	all := samples()
	want := []Interaction{all[0], all[1], all[8]}
	good, err := os.ReadFile(write(t, want...))
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(good) {
		if _, err := Parse("x.yaml", good[:cut]); !errors.Is(err, ErrTorn) && (cut > 0 || !errors.Is(err, ErrEmpty)) {
			t.Fatalf("cut at %d of %d: %v, want ErrTorn", cut, len(good), err)
		}
		whole, kept, err := wholeBytes(good[:cut])
		if kept == 0 {
			if err == nil {
				t.Fatalf("cut at %d: nothing kept and no error", cut)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		c, err := Parse("x.yaml", whole)
		if err != nil {
			t.Fatalf("cut at %d: recovered file: %v", cut, err)
		}
		wantSame(t, readAll(t, c), want[:kept])
	}
	if _, kept, err := wholeBytes(good[:len(good)-1]); err != nil || kept != len(want) {
		t.Errorf("without the last byte: kept %d, %v", kept, err)
	}
}

// No change of one bit goes unnoticed, wherever it is.
func TestEveryBitFlipIsFound(t *testing.T) {
	good, err := os.ReadFile(write(t, samples()[0], samples()[1]))
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bit := byte(1) << rand.IntN(8)
		for _, b := range []byte{bit, 0x20} { // 0x20 changes the case of letters
			good[i] ^= b
			if c, err := Parse("x.yaml", good); err == nil && c.Sealed() && c.Verify() == nil {
				t.Fatalf("flipping %#x of byte %d goes unnoticed", b, i)
			} else if err == nil && !c.Sealed() {
				t.Fatalf("flipping %#x of byte %d makes it an import", b, i)
			}
			good[i] ^= b
		}
	}
}

// Whole items removed from the end, the middle or the front are missed.
func TestRemovedItemsAreFound(t *testing.T) {
	all := samples()[:3]
	good, err := os.ReadFile(write(t, all...))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse("x.yaml", good)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range c.spans {
		short := append(append([]byte{}, good[:s.start]...), good[s.end:]...)
		c, err := Parse("x.yaml", short)
		if err == nil {
			err = c.Verify()
		}
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("without item %d: %v, want ErrDamaged", i, err)
		}
	}
}

// A damaged item is not served; the others still are.
func TestDamagedItemIsNotServed(t *testing.T) {
	good, err := os.ReadFile(write(t, samples()[:3]...))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse("x.yaml", good)
	if err != nil {
		t.Fatal(err)
	}
	good[c.spans[1].start+40] ^= 1
	for i := range 3 {
		if _, err := c.At(i); (err == nil) != (i != 1) {
			t.Errorf("interaction %d: %v", i, err)
		}
	}
	n := 0
	for range c.All() {
		n++
	}
	if n != 3 {
		t.Errorf("All stopped after %d of 3", n)
	}
}

// threeOnTape returns the bytes of a finished cassette of three interactions.
func threeOnTape(t *testing.T) []byte {
	t.Helper()
	good, err := os.ReadFile(write(t, samples()[:3]...))
	if err != nil {
		t.Fatal(err)
	}
	return good
}

// put writes a file into a folder of its own.
func put(t *testing.T, name string, data []byte) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRecover(t *testing.T) {
	good := threeOnTape(t)
	t.Run("torn journal", func(t *testing.T) {
		p := put(t, "x.yaml.partial", good[:len(good)-200])
		kept, err := Recover(p)
		if err != nil || kept != 2 {
			t.Fatalf("kept %d, %v; want 2", kept, err)
		}
		if err := Verify(p[:len(p)-len(".partial")]); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(p); err == nil {
			t.Error("the journal is still there")
		}
	})
	t.Run("torn under its final name", func(t *testing.T) {
		p := put(t, "x.yaml", good[:len(good)-200])
		if kept, err := Recover(p); err != nil || kept != 2 || Verify(p) != nil {
			t.Errorf("kept %d, %v, verify %v", kept, err, Verify(p))
		}
	})
	t.Run("complete", func(t *testing.T) {
		p := put(t, "x.yaml", good)
		if kept, err := Recover(p); err != nil || kept != 3 {
			t.Errorf("kept %d, %v", kept, err)
		}
	})
}

// What Recover cannot mend stays as it is.
func TestRecoverRefuses(t *testing.T) {
	good := threeOnTape(t)
	t.Run("finished cassette in the way", func(t *testing.T) {
		p := put(t, "x.yaml", []byte("precious"))
		if err := os.WriteFile(partialPath(p), good, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Recover(p)
		got, _ := os.ReadFile(p)
		if !errors.Is(err, os.ErrExist) || string(got) != "precious" {
			t.Errorf("%v, file %q", err, got)
		}
	})
	t.Run("damage before the end", func(t *testing.T) {
		bad := append([]byte{}, good[:len(good)-100]...)
		bad[len(bad)/3] ^= 1
		p := put(t, "x.yaml.partial", bad)
		_, err := Recover(p)
		got, _ := os.ReadFile(p)
		if !errors.Is(err, ErrDamaged) || string(got) != string(bad) {
			t.Errorf("%v; the file must stay as it is", err)
		}
	})
	t.Run("text behind a finished one", func(t *testing.T) {
		noted := append(bytes.Clone(good), "# a note\n"...)
		p := put(t, "x.yaml", noted)
		_, err := Recover(p)
		got, _ := os.ReadFile(p)
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "remove that text") ||
			string(got) != string(noted) {
			t.Errorf("%v; the file must stay as it is", err)
		}
	})
	t.Run("nothing whole", func(t *testing.T) {
		for _, n := range []int{0, 5, 60, 400} {
			if _, err := Recover(put(t, "x.yaml.partial", good[:n])); !errors.Is(err, ErrEmpty) {
				t.Errorf("%d bytes: %v, want ErrEmpty", n, err)
			}
		}
	})
	t.Run("not ours", func(t *testing.T) {
		if _, err := Recover(put(t, "x.yaml.partial", []byte("hello"))); !errors.Is(err, ErrFormat) {
			t.Errorf("%v, want ErrFormat", err)
		}
		if _, err := Recover(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v, want ErrNotExist", err)
		}
	})
}

// wholeBytes returns the whole file that data is the beginning of.
func wholeBytes(data []byte) (whole []byte, kept int, err error) {
	found, err := wholePart("x.yaml", bytes.NewReader(data))
	if err != nil || found.closed {
		return data, found.count, err
	}
	return append(bytes.Clone(data[:found.end]), closing{found.count, Loss{Recovered: true}}.lineAfter(found.last)...),
		found.count, nil
}

// reading counts bytes and shows how much memory the one who reads has.
type reading struct {
	pattern []byte
	left, n int
	peak    uint64
}

func (r *reading) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.pattern)
	r.pattern = r.pattern[n:]
	if len(r.pattern) == 0 {
		r.left = 0
	}
	if r.n++; r.n%32 != 0 {
		return n, nil
	}
	runtime.GC() // what has not been collected yet is no measure
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.peak = max(r.peak, m.HeapAlloc)
	return n, nil
}

// A long file is read in the memory of one item.
func TestScanNeedsLittleMemory(t *testing.T) {
	var all []Interaction
	for range 50 {
		in := samples()[0]
		in.Response.Body, in.Timeline = []byte(strings.Repeat("data: {}\n\n", 20<<10)), nil // 200 KiB
		all = append(all, in)
	}
	data, err := os.ReadFile(write(t, all...))
	if err != nil {
		t.Fatal(err)
	}
	clear(all)
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	r := &reading{pattern: data, left: 1}
	s, err := scan("x.yaml", r, nil)
	if err != nil || !s.closed || s.count != 50 {
		t.Fatalf("%+v, %v", s, err)
	}
	if more := int64(r.peak) - int64(before.HeapAlloc); more > int64(len(data))/2 {
		t.Errorf("%d MiB of memory for a file of %d MiB", more>>20, len(data)>>20)
	}
}
