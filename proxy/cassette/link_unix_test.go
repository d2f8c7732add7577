//go:build unix

package cassette

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Nothing takes the place of a link: it is refused before anything is recorded,
// and the file it leads to is named.
func TestLinksAreNotReplaced(t *testing.T) {
	path := write(t, samples()[0])
	dir := t.TempDir()
	link, dangling := filepath.Join(dir, "link.yaml"), filepath.Join(dir, "gone.yaml")
	if err := errors.Join(os.Symlink(path, link), os.Symlink("nowhere", dangling)); err != nil {
		t.Fatal(err)
	}
	_, created := Create(link, testMeta, CreateOptions{Force: true})
	_, extended := Extend(link, testMeta)
	_, nowhere := Create(dangling, testMeta, CreateOptions{Force: true})
	for what, err := range map[string]error{
		"Create": created, "Extend": extended, "Rename": Rename(write(t, samples()[1]), link),
		"Replaceable": Replaceable(link), "dangling": nowhere,
	} {
		want := "is a link to " + path + "; name that file"
		if what == "dangling" {
			want = "is a link that leads nowhere"
		}
		if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, p := range []string{link, dangling} {
		if info, err := os.Lstat(p); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", p)
		}
		if _, err := os.Lstat(partialPath(p)); err == nil {
			t.Errorf("%s was begun", p)
		}
	}
}

// A device or a pipe is not replaced by a file: root could lose /dev/null.
func TestDevicesAreNotReplaced(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, force := range []bool{false, true} {
		_, err := Create(pipe, testMeta, CreateOptions{Force: force})
		if !errors.Is(err, fs.ErrExist) || !strings.HasSuffix(err.Error(), "is not a regular file; name a file") {
			t.Errorf("force %t: %v", force, err)
		}
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("it is no pipe any more: %v", err)
	}
}
