package record

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A spool's file never has a name, so a recorder that is killed leaves none: the
// folder does not change for it.
func TestSpoolFileNeverHasAName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if probe, err := openUnnamed(dir); err != nil {
		t.Skip("this file system has no files without names:", err)
	} else {
		discardFile(probe)
	}
	long := time.Unix(1e9, 0)
	if err := os.Chtimes(dir, long, long); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	spools, err := newSpooler()
	if err != nil {
		t.Fatal(err)
	}
	defer spools.close()
	file, err := spools.acquire()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte("body"), 0); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(dir)
	if err != nil || !info.ModTime().Equal(long) {
		t.Errorf("a name was in the folder: %v, %v", info.ModTime(), err)
	}
	discardFile(file)
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}
