package fileutil

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

func TestReason(t *testing.T) {
	_, openErr := os.Open(filepath.Join(t.TempDir(), "absent"))
	linkErr := os.Rename(filepath.Join(t.TempDir(), "absent"), filepath.Join(t.TempDir(), "x"))
	other := errors.New("not about a file")
	for name, c := range map[string]struct{ err, want error }{
		"path":    {openErr, syscall.ENOENT},
		"link":    {linkErr, syscall.ENOENT},
		"wrapped": {fmt.Errorf("session: %w", openErr), syscall.ENOENT},
		"joined":  {errors.Join(nil, openErr), syscall.ENOENT},
		"other":   {other, other},
		"none":    {nil, nil},
	} {
		if got := Reason(c.err); got != c.want { //nolint:errorlint // the bare error is the promise
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestWriteFileReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, perm := range []fs.FileMode{0o600, 0o644} {
		data := []byte(perm.String())
		if err := WriteFile(path, data, perm); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%q, %v; want %q", got, err, data)
		}
		if info, _ := os.Stat(path); runtime.GOOS != "windows" && info.Mode().Perm() != perm {
			t.Errorf("mode %v, want %v", info.Mode().Perm(), perm)
		}
	}
	checkOnly(t, path)
}

// A rename that fails leaves the old content and no temporary file.
func TestWriteFileFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	crash := errors.New("crash")
	err := placeFile(path, []byte("new"), 0o600, func(from, _ string) error {
		if got, err := os.ReadFile(from); err != nil || string(got) != "new" {
			t.Errorf("the file is renamed before it is written: %q, %v", got, err)
		}
		return crash
	})
	if !errors.Is(err, crash) {
		t.Fatalf("%v, want %v", err, crash)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the old content became %q", got)
	}
	checkOnly(t, path)
}

// fullDisk is a file on a disk without room.
type fullDisk struct{ synced, closed bool }

func (d *fullDisk) Write([]byte) (int, error) { return 1, syscall.ENOSPC }
func (d *fullDisk) Chmod(fs.FileMode) error   { return nil }
func (d *fullDisk) Sync() error               { d.synced = true; return nil }
func (d *fullDisk) Close() error              { d.closed = true; return nil }

func TestFillFileFullDisk(t *testing.T) {
	disk := &fullDisk{}
	if err := fillFile(disk, []byte("data"), 0o644); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v, want %v", err, syscall.ENOSPC)
	}
	if !disk.closed {
		t.Error("the file stays open")
	}
}

// Of several writers that create one file exactly one succeeds.
func TestCreateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	var (
		wait  sync.WaitGroup
		mutex sync.Mutex
		won   []byte
	)
	for i := range 8 {
		wait.Go(func() {
			data := []byte{byte('a' + i)}
			err := CreateFile(path, data, 0o600)
			mutex.Lock()
			defer mutex.Unlock()
			switch {
			case err == nil && won == nil:
				won = data
			case err == nil:
				t.Error("two writers created the file")
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, won) {
		t.Errorf("%q, %v; want %q", got, err, won)
	}
	checkOnly(t, path)
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	first := openFile(t, path)
	if err := Lock(first); err != nil {
		t.Fatal(err)
	}
	if err := TryLock(openFile(t, path)); !errors.Is(err, ErrLocked) {
		t.Errorf("a second lock: %v, want %v", err, ErrLocked)
	}
	if !IsLocked(openFile(t, path)) {
		t.Error("the file reads as unlocked")
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "data" {
		t.Errorf("a locked file cannot be read: %q, %v", got, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if asks := openFile(t, path); IsLocked(asks) {
		t.Error("the lock outlives its file")
	} else if IsLocked(openFile(t, path)) {
		t.Error("asking gets in the way of others who ask")
	} else if err := asks.Close(); err != nil {
		t.Fatal(err)
	}
}

// A copy of the open file in another process, as a child has it before its program runs,
// does not keep the lock.
func TestCloseLockedWithCopies(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("children on Windows get no copy of an open file")
	}
	f := lockedFile(t)
	child := exec.CommandContext(t.Context(), "sleep", "60")
	child.ExtraFiles = []*os.File{f}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	if err := CloseLocked(f); err != nil {
		t.Fatal(err)
	}
	if err := TryLock(openFile(t, f.Name())); err != nil {
		t.Errorf("the lock of a closed file: %v", err)
	}
}

// lockedFile returns an empty file whose lock is held.
func lockedFile(t *testing.T) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := openFile(t, path)
	if err := TryLock(f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestRemoveLocked(t *testing.T) {
	f := lockedFile(t)
	if err := RemoveLocked(f); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want %v", err, fs.ErrNotExist)
	}
	if err := f.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("the file stays open: %v", err)
	}
}

// checkOnly fails when the folder of path holds anything else.
func checkOnly(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("the folder holds %v, %v; want %s alone", entries, err, filepath.Base(path))
	}
}

func openFile(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}
