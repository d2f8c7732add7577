package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/cassettes"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/app/rkat"
)

func TestMain(m *testing.M) {
	if code, isSubject := harness.RunIfSubject(context.Background(), rkat.Run, os.Args[1:], os.Stdin, os.Stdout,
		os.Stderr, os.Environ()); isSubject {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// TestRecordAllLeavesACleanTree records everything over a copy of the committed
// cassettes. A file that changes is a cassette that no longer says what rkat and
// the script say. A file that belongs to no case is removed.
func TestRecordAllLeavesACleanTree(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, cassettes.FS); err != nil {
		t.Fatal(err)
	}
	stray := filepath.Join(dir, "anthropic", "stray.yaml")
	if err := os.WriteFile(stray, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	if code := generate(t.Context(), []string{"cassettes", dir}, &said); code != 0 {
		t.Fatalf("code %d: %s", code, said.String())
	}
	if want := "removed anthropic/stray.yaml\n"; !strings.HasPrefix(said.String(), want) ||
		!strings.Contains(said.String(), ": 0 written, 1 removed") {
		t.Errorf("got %q; committed cassettes are out of date, run make cassettes", said.String())
	}
}

// TestRecordWritesWhatIsMissing holds that a new scenario gets its cassette.
func TestRecordWritesWhatIsMissing(t *testing.T) {
	cases, err := harness.AllCases()
	if err != nil {
		t.Fatal(err)
	}
	runner, err := harness.NewRunner(harness.Config{Subject: harness.InProcess(rkat.Run, "", nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	dir := t.TempDir()
	changed, err := recordCases(t.Context(), runner, cases[:1], dir)
	if err != nil || len(changed) != 1 {
		t.Fatalf("%q: %v", changed, err)
	}
	if _, err := os.Stat(filepath.Join(dir, strings.TrimPrefix(changed[0], "wrote "))); err != nil {
		t.Error(err)
	}
}

func TestBadInput(t *testing.T) {
	for want, args := range map[string][]string{
		"run it from the root": {"cassettes", filepath.Join(t.TempDir(), "nowhere")},
		"want cassettes [DIR]": {"-what"},
	} {
		var said bytes.Buffer
		if code := generate(t.Context(), args, &said); code == 0 || !strings.Contains(said.String(), want) {
			t.Errorf("%q: code %d, %q", args, code, said.String())
		}
	}
}
