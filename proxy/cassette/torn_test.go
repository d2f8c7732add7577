package cassette

import (
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
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
		whole, kept, err := wholePart("x.yaml", good[:cut], 0)
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
	if _, kept, err := wholePart("x.yaml", good[:len(good)-1], 0); err != nil || kept != len(want) {
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
