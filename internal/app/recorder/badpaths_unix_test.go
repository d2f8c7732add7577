//go:build unix

package recorder_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/meerkat-go/conformance/internal/app/recorder"
)

// What is not a file at all is refused before anything waits for it.
func TestBadPaths(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		syscall.Mkfifo(at("pipe.yaml"), 0o600),
		os.Symlink(at("nowhere.yaml"), at("dangling.yaml")),
		os.Symlink(at("loop.yaml"), at("loop.yaml")),
		os.Symlink(dir, at("folder.yaml")),
		os.WriteFile(at("file"), nil, 0o600),
	} {
		if err != nil {
			t.Skip("this system has no such files:", err)
		}
	}
	for path, want := range map[string]string{
		at("pipe.yaml"):     "not a regular file",
		at("dangling.yaml"): "no",
		at("loop.yaml"):     "too many levels of symbolic links",
		at("file/x.yaml"):   "not a directory",
		at("absent.yaml"):   "no",
	} {
		for _, args := range [][]string{{"replay", "--cassette", path}, {"inspect", path},
			{"import", path, "--cassette", at("out")}, {"export", path, "--to", "har"}, {"verify", path}} {
			var stdout, stderr bytes.Buffer
			exit := recorder.Run(t.Context(), args, strings.NewReader(""), &stdout, &stderr,
				[]string{"XDG_CONFIG_HOME=" + t.TempDir(), "HOME=" + dir})
			said := stdout.String() + stderr.String()
			if exit != 2 && (exit != 1 || args[0] != "verify") || !strings.Contains(said, path+": ") ||
				!strings.Contains(said, want) || strings.Count(said, "\n") > 2 {
				t.Errorf("%s %s: exit %d, want %q\n%s", args[0], filepath.Base(path), exit, want, said)
			}
		}
	}
}

// A cassette that cannot be made where it is named is refused before the program starts, and a
// folder that cannot be looked through is named.
func TestUnusableFolders(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "file", "x.yaml")
	var stdout, stderr bytes.Buffer
	exit := recorder.Run(t.Context(), []string{"run", "--mode", "record", "--cassette", path, "--", "sh", "-c",
		"exit 3"}, strings.NewReader(""), &stdout, &stderr, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")})
	if want := path + ": cannot be created (not a directory); name a file in a folder where you may write\n"; exit != 2 || stderr.String() != "recorder: "+want {
		t.Errorf("exit %d: %s, want %s", exit, &stderr, want)
	}
	locked := filepath.Join(dir, "locked")
	if err := os.Mkdir(locked, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadDir(locked); err == nil {
		t.Skip("this user may look through every folder")
	}
	stderr.Reset()
	exit = recorder.Run(t.Context(), []string{"verify", dir}, strings.NewReader(""), &stdout, &stderr, nil)
	if want := "recorder: " + locked + ": cannot be read: permission denied; check the path and its permissions\n"; exit != 2 || stderr.String() != want {
		t.Errorf("exit %d: %s, want %s", exit, &stderr, want)
	}
}
