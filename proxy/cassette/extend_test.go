package cassette

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func extend(t *testing.T, path string, more ...Interaction) *Writer {
	t.Helper()
	w, err := Extend(path, testMeta)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range more {
		if err := w.Append(in); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// What was there keeps its bytes, and until the end its file, too.
func TestExtendKeepsWhatIsThere(t *testing.T) {
	path := write(t, samples()[0], samples()[1])
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w := extend(t, path, samples()[2])
	if now, _ := os.ReadFile(path); !bytes.Equal(now, before) {
		t.Error("the finished file changed before Close")
	}
	if _, err := Extend(path, testMeta); !errors.Is(err, ErrBusy) {
		t.Errorf("second recorder: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	after, _ := os.ReadFile(path)
	_, end, _ := readClose(before)
	if !bytes.HasPrefix(after, before[:end]) {
		t.Error("an old item changed")
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, readAll(t, c), samples()[:3])
	if err := c.Verify(); err != nil {
		t.Error(err)
	}
}

// A recorder that dies while it extends damages nothing, wherever it was.
func TestExtendIsWholeAfterACrash(t *testing.T) {
	path := write(t, samples()[0], samples()[1])
	before, _ := os.ReadFile(path)
	w := extend(t, path, samples()[2])
	torn, err := os.ReadFile(partialPath(path))
	if err != nil {
		t.Fatal(err)
	}
	_ = w.file.Close() // as the end of the process would
	for _, c := range []struct {
		cut, kept int
		err       error
	}{{len(torn), 3, nil}, {len(torn) - 1, 2, nil}, {len(before) / 2, 0, fs.ErrExist}, {3, 0, fs.ErrExist}} {
		for name, data := range map[string][]byte{path: before, partialPath(path): torn[:c.cut]} {
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		kept, err := Recover(path)
		if kept != c.kept || !errors.Is(err, c.err) {
			t.Errorf("cut at %d: %d, %v; want %d, %v", c.cut, kept, err, c.kept, c.err)
		}
		if got, err := Open(path); err != nil || got.Len() < 2 {
			t.Errorf("cut at %d: the cassette is damaged: %v", c.cut, err)
		}
	}
}

// What another process put in the place of the cassette that is extended is not overwritten, nor
// is it put there while that is seen.
func TestExtendedCassetteIsReplaced(t *testing.T) {
	path := write(t, samples()[0])
	fresh := write(t, samples()[1])
	w := extend(t, path, samples()[2])
	if err := Rename(fresh, path); !errors.Is(err, ErrBusy) {
		t.Errorf("renamed to one that is being recorded: %v", err)
	}
	if err := os.Rename(fresh, path); err != nil { // as git does
		t.Fatal(err)
	}
	err := w.Close()
	if want := "was replaced by another process meanwhile and stays so; what was recorded is in " + partialPath(path); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want that it %s", err, want)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, readAll(t, c), samples()[1:2])
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if kept, err := Recover(path); kept != 2 || err != nil {
		t.Errorf("recovered %d, %v", kept, err)
	}
	w = extend(t, path, samples()[1])
	if err := errors.Join(os.Remove(path), w.Close()); err != nil {
		t.Errorf("one that is gone: %v", err)
	}
}

func TestExtendRefuses(t *testing.T) {
	path := write(t, samples()[0])
	live, other, nominal := testMeta, testMeta, testMeta
	live.Provenance, other.Redaction, nominal.Declared = ProvenanceLive, []string{"other-rule"},
		[]string{DeclaredNominal}
	for says, meta := range map[string]Meta{"now is live": live, "other rules": other,
		"now has nominal ones": nominal} {
		if _, err := Extend(path, meta); !errors.Is(err, ErrMixed) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want that it %q", err, says)
		}
	}
	data, _ := os.ReadFile(path)
	longer := put(t, "x.yaml", bytes.Replace(data, []byte("method: \""), []byte("method: \"X"), 1))
	changed := put(t, "y.yaml", bytes.Replace(data, []byte("method: \"P"), []byte("method: \"X"), 1)) // as long
	for _, damaged := range []string{longer, changed} {
		if _, err := Extend(damaged, testMeta); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: damaged: %v", damaged, err)
		}
	}
	if _, err := Extend(filepath.Join(t.TempDir(), "none.yaml"), testMeta); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
	for _, p := range []string{path, longer, changed} {
		if _, err := os.Lstat(partialPath(p)); err == nil {
			t.Errorf("%s: a refusal left a trace", p)
		}
	}
}

// Recorders that take turns on one cassette lose nothing of each other, however
// close they come: one that read it before another finished it is told so.
func TestExtendersTakeTurns(t *testing.T) {
	const recorders, each = 4, 10
	path := write(t, samples()[0])
	var wg sync.WaitGroup
	for range recorders {
		wg.Go(func() {
			for added := 0; added < each; {
				w, err := Extend(path, testMeta)
				if errors.Is(err, ErrBusy) || errors.Is(err, fs.ErrExist) { // just made, or just closed
					runtime.Gosched()
					continue
				}
				if err == nil {
					err = errors.Join(w.Append(samples()[1]), w.Close())
				}
				if err != nil {
					t.Error(err)
					return
				}
				added++
			}
		})
	}
	wg.Wait()
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + recorders*each; c.Len() != want {
		t.Errorf("%d interactions, want %d", c.Len(), want)
	}
}

func TestRenameTakesWholeCassettesOnly(t *testing.T) {
	old, fresh := write(t, samples()[0]), write(t, samples()[1])
	whole, _ := os.ReadFile(fresh)
	if err := os.WriteFile(fresh, whole[:len(whole)-9], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Rename(fresh, old); !errors.Is(err, ErrTorn) || !strings.HasPrefix(err.Error(), fresh) {
		t.Errorf("torn: %v", err)
	}
	if err := os.WriteFile(fresh, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Rename(fresh, old); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(old); !bytes.Equal(got, whole) {
		t.Error("not the fresh one")
	}
}
