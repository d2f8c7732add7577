//go:build unix

package fileutil

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestWriteFilePipe holds that a pipe is written to and stays a pipe.
func TestWriteFilePipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("this file system has no named pipes:", err)
	}
	read := make(chan string)
	go func() {
		text, _ := os.ReadFile(path)
		read <- string(text)
	}()
	if err := WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Fatalf("the pipe was replaced: %v, %v", info, err)
	}
	if text := <-read; text != "x" {
		t.Errorf("read %q", text)
	}
}

// A secret is read only from a file that nobody else can read.
func TestReadPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	for mode, want := range map[fs.FileMode]string{
		0o600: "", 0o400: "",
		0o640: "mode 0640 lets others read it; run: chmod 600 " + path,
		0o602: "mode 0602 lets others read it; run: chmod 600 " + path,
	} {
		if err := errors.Join(os.WriteFile(path, []byte("secret"), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		data, err := ReadPrivate(path)
		if want == "" && (err != nil || string(data) != "secret") ||
			want != "" && (err == nil || err.Error() != want || data != nil) {
			t.Errorf("mode %o: %q, %v, want %q", mode, data, err, want)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ReadPrivate(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, c := range []struct {
		owner   uint32
		user    int
		foreign bool
	}{{1000, 1000, false}, {1000, 0, false}, {0, 1000, false}, {1001, 1000, true}} {
		owner, foreign := foreignOwner(owned{c.owner}, c.user)
		if foreign != c.foreign || foreign && owner != int(c.owner) {
			t.Errorf("a file of %d for %d: %d, %t", c.owner, c.user, owner, foreign)
		}
	}
}

// owned is the part of a file's description that says whose it is.
type owned struct{ uid uint32 }

func (owned) Name() string       { return "" }
func (owned) Size() int64        { return 0 }
func (owned) Mode() fs.FileMode  { return 0o600 }
func (owned) ModTime() time.Time { return time.Time{} }
func (owned) IsDir() bool        { return false }
func (o owned) Sys() any         { return &syscall.Stat_t{Uid: o.uid} }
