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
		for _, args := range [][]string{{"replay", "--cassette", path}, {"inspect", path}, {"import", path, "--cassette", at("out")}, {"export", path, "--to", "har"}, {"verify", path}} {
			var stdout, stderr bytes.Buffer
			exit := recorder.Run(t.Context(), args, strings.NewReader(""), &stdout, &stderr, []string{"XDG_CONFIG_HOME=" + t.TempDir(), "HOME=" + dir})
			said := stdout.String() + stderr.String()
			if exit != 2 && (exit != 1 || args[0] != "verify") || !strings.Contains(said, path+": ") || !strings.Contains(said, want) || strings.Count(said, "\n") > 2 {
				t.Errorf("%s %s: exit %d, want %q\n%s", args[0], filepath.Base(path), exit, want, said)
			}
		}
	}
}
