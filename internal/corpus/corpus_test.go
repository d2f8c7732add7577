package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeTB records how a helper ended the test.
type fakeTB struct{ ended string }

func (f *fakeTB) Helper()           {}
func (f *fakeTB) Skip(args ...any)  { f.end("skip", args) }
func (f *fakeTB) Fatal(args ...any) { f.end("fatal", args) }

func (f *fakeTB) end(how string, args []any) {
	if f.ended == "" {
		f.ended = how + ": " + fmt.Sprint(args...)
	}
}

func writeCorpus(t *testing.T, dir string) string {
	t.Helper()
	for _, name := range []string{"manifest.jsonl", "data/openai/a/01.response.body",
		"data/openai/b/01.response.body"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFindBesideAParentFolder(t *testing.T) {
	root := t.TempDir()
	want := writeCorpus(t, filepath.Join(root, "shared", "traffic"))
	below := filepath.Join(root, "repository", "package")
	if err := os.MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MEERKAT_TRAFFIC", "")
	t.Chdir(below)
	dir, found := Find()
	same := sameFolder(t, dir, want)
	if !found || !same {
		t.Errorf("Find = %q, %v; want %q", dir, found, want)
	}
}

func sameFolder(t *testing.T, a, b string) bool {
	t.Helper()
	one, err := os.Stat(a)
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.Stat(b)
	if err != nil {
		t.Fatal(err)
	}
	return os.SameFile(one, other)
}

func TestVariableWinsEvenWhenWrong(t *testing.T) {
	t.Setenv("MEERKAT_TRAFFIC", t.TempDir())
	if dir, found := Find(); found {
		t.Errorf("found %q in an empty folder", dir)
	}
	var tb fakeTB
	if Dir(&tb); !strings.HasPrefix(tb.ended, "skip: no recorded traffic") {
		t.Errorf("Dir ended the test with %q", tb.ended)
	}
}

func TestFiles(t *testing.T) {
	t.Setenv("MEERKAT_TRAFFIC", writeCorpus(t, t.TempDir()))
	if files := Files(t, "openai/*/*.response.body"); len(files) != 2 || filepath.Base(filepath.Dir(files[0])) != "a" {
		t.Errorf("Files = %q", files)
	}
	var tb fakeTB
	if Files(&tb, "gemini/*/*.response.body"); !strings.HasPrefix(tb.ended, "fatal: ") {
		t.Errorf("no match ended the test with %q", tb.ended)
	}
}
