package meerkat_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamplesWithoutKey runs the examples that need a key without one. Each says that a key is
// missing and ends before anything is started, sent, or kept.
func TestExamplesWithoutKey(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"} {
		t.Setenv(name, "")
	}
	programs := t.TempDir()
	npx := "#!/bin/sh\necho started >\"$(dirname \"$0\")\"/started\n"
	if err := os.WriteFile(filepath.Join(programs, "npx"), []byte(npx), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	t.Setenv("PATH", programs+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for name, example := range map[string]func(){"ExampleNewAgent": ExampleNewAgent,
		"Example_quickStart": Example_quickStart} {
		t.Chdir(t.TempDir())
		stdout, stderr := outputOf(t, example)
		if stdout != "" || !strings.Contains(stderr, "API_KEY") && !strings.Contains(stderr, "set a key") {
			t.Errorf("%s prints %q, and on stderr %q", name, stdout, stderr)
		}
		for _, folder := range []string{".", programs} {
			if left, err := os.ReadDir(folder); err != nil || len(left) > 1 || folder == "." && len(left) > 0 {
				t.Errorf("%s leaves %v in %s, %v", name, left, folder, err)
			}
		}
	}
}

// outputOf runs do and returns what it printed.
func outputOf(t *testing.T, do func()) (stdout, stderr string) {
	t.Helper()
	dir, was := t.TempDir(), []*os.File{os.Stdout, os.Stderr}
	defer func() { os.Stdout, os.Stderr = was[0], was[1] }()
	var printed [2]string
	for i, stream := range []**os.File{&os.Stdout, &os.Stderr} {
		printed[i] = filepath.Join(dir, []string{"stdout", "stderr"}[i])
		file, err := os.Create(printed[i])
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		*stream = file
	}
	do()
	for i, path := range printed {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		printed[i] = string(text)
	}
	return printed[0], printed[1]
}
