package cassette

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestCreateNeverOverwrites(t *testing.T) {
	path := write(t, samples()[0])
	before, _ := os.ReadFile(path)
	_, err := Create(path, testMeta, CreateOptions{})
	if !errors.Is(err, fs.ErrExist) || err.Error() != path+": exists; use --force to replace it" {
		t.Errorf("error %v", err)
	}
	w, err := Create(path, testMeta, CreateOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(samples()[1]); err != nil {
		t.Fatal(err)
	}
	if now, _ := os.ReadFile(path); string(now) != string(before) {
		t.Error("the old cassette changed before Close")
	}
	if _, err := Create(filepath.Dir(path), testMeta, CreateOptions{Force: true}); err == nil {
		t.Error("a folder can be replaced")
	}
	_, err = Create(path, testMeta, CreateOptions{Force: true})
	if !errors.Is(err, ErrBusy) {
		t.Errorf("second recorder: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, readAll(t, c), samples()[1:2])
}

// What another process is still writing is neither continued nor recovered,
// and what it goes on to write is kept.
func TestRecordingGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	w, err := Create(path, testMeta, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(samples()[0]); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, partialPath(path)} {
		if _, err := Recover(name); !errors.Is(err, ErrBusy) {
			t.Errorf("Recover(%s) = %v, want ErrBusy", name, err)
		}
	}
	if err := errors.Join(w.Append(samples()[1]), w.Close()); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, readAll(t, c), samples()[:2])
}

func TestCreateKeepsWhatWasLeft(t *testing.T) {
	path := filepath.Join(filepath.Dir(put(t, "x.yaml.partial", []byte("left"))), "x.yaml")
	_, err := Create(path, testMeta, CreateOptions{Force: true})
	got, _ := os.ReadFile(partialPath(path))
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "recorder recover "+path) ||
		string(got) != "left" {
		t.Errorf("%v, file %q", err, got)
	}
}

// A cassette that appears while another is being recorded is kept, and so is
// the recording.
func TestCloseDoesNotReplaceALateComer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	w, err := Create(path, testMeta, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Append(samples()[0]), os.WriteFile(path, []byte("late"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Close = %v, want ErrExist", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "late" {
		t.Errorf("the late comer is now %q", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if kept, err := Recover(path); err != nil || kept != 1 {
		t.Errorf("kept %d, %v", kept, err)
	}
}

// Stock go-vcr reads the journal after every append: it is a cassette already.
func TestJournalIsLoadableAfterEveryAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	w, err := Create(path, testMeta, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, in := range samples() {
		if err := w.Append(in); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(partialPath(path))
		if err != nil {
			t.Fatal(err)
		}
		if got := stockParse(t, data); len(got.Interactions) != i+1 {
			t.Fatalf("stock reads %d interactions after append %d", len(got.Interactions), i)
		}
	}
}

func TestConcurrentAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	w, err := Create(path, testMeta, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			in := samples()[i%5]
			in.Request.URL = fmt.Sprint("https://api.openai.com/", i)
			if err := w.Append(in); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, in := range readAll(t, c) {
		seen[in.Request.URL] = true
	}
	if len(seen) != 32 {
		t.Errorf("%d different interactions, want 32", len(seen))
	}
}

// What cannot be stored truthfully is refused and costs nothing else.
func TestUntruthfulInteractionsAreRefused(t *testing.T) {
	good := samples()[0]
	short, back := good, good
	short.Timeline = []Chunk{{At: 0, Length: 1}}
	back.Timeline = []Chunk{{At: time.Second, Length: len(good.Response.Body)}, {At: 0, Length: 0}}
	path := filepath.Join(t.TempDir(), "x.yaml")
	w, err := Create(path, testMeta, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []Interaction{short, back} {
		if err := w.Append(bad); !errors.Is(err, ErrInteraction) {
			t.Errorf("Append = %v, want ErrInteraction", err)
		}
	}
	if err := errors.Join(w.Append(good), w.Close()); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil || c.Len() != 1 {
		t.Errorf("%d interactions, %v; want the good one", c.Len(), err)
	}
}

// A write that fails leaves what was whole, and says so on one line.
func TestFailedWriteKeepsWhatWasWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	w, err := Create(path, testMeta, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(samples()[0]); err != nil {
		t.Fatal(err)
	}
	readOnly, err := os.Open(partialPath(path))
	if err != nil {
		t.Fatal(err)
	}
	good := w.file
	w.file = readOnly
	err = w.Append(samples()[1])
	if err == nil || strings.Contains(err.Error(), "\n") ||
		!strings.HasPrefix(err.Error(), path+": cannot be written any more (") {
		t.Errorf("Append = %v", err)
	}
	if err := w.Append(samples()[1]); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Append after that = %v, want ErrClosed", err)
	}
	if err := good.Close(); err != nil {
		t.Fatal(err)
	}
	if kept, err := Recover(path); err != nil || kept != 1 {
		t.Errorf("kept %d, %v", kept, err)
	}
}

func TestDiscardAndEmptyClose(t *testing.T) {
	dir := t.TempDir()
	for name, end := range map[string]func(*Writer) error{
		"discard": (*Writer).Discard,
		"close": func(w *Writer) error {
			if err := w.Close(); !errors.Is(err, ErrEmpty) {
				t.Errorf("Close = %v, want ErrEmpty", err)
			}
			return nil
		},
	} {
		w, err := Create(filepath.Join(dir, name+".yaml"), testMeta, CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := end(w); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{w.Append(samples()[0]), w.Close(), w.Discard()} {
			if !errors.Is(err, fs.ErrClosed) {
				t.Errorf("after %s: %v, want ErrClosed", name, err)
			}
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCreateRefusesBadMeta(t *testing.T) {
	dir := t.TempDir()
	for _, m := range []Meta{{Provenance: "guess"}, {Version: 9, Provenance: "live"},
		{Provenance: "live", Redaction: []string{"two words"}}} {
		if _, err := Create(filepath.Join(dir, "x.yaml"), m, CreateOptions{}); err == nil {
			t.Errorf("%+v is accepted", m)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := Create("/dev/null/x.yaml", testMeta, CreateOptions{}); err == nil ||
		!strings.HasPrefix(err.Error(), "/dev/null/x.yaml: ") {
		t.Errorf("impossible path: %v", err)
	}
}

func TestHeadersWithoutValuesAreNoHeaders(t *testing.T) {
	in := samples()[0]
	in.Response.Header = http.Header{"Empty": nil, "None": {}}
	in.Response.Trailer = http.Header{}
	if _, err := encodeItem(in); err != nil {
		t.Error(err)
	}
}
