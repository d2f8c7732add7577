package artifact

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// TestFullDisk: the error says that the disk is full, and nothing is stored.
func TestFullDisk(t *testing.T) {
	const owner session.ID = "0199a2b4-0000-7000-8000-000000000001"
	store := &fileStore{t.TempDir(), Options{}.withDefaults(), func(path string, _ []byte, _ fs.FileMode) error {
		return &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
	}}
	_, err := store.Put(t.Context(), owner, []byte("a"), 0)
	storage := (*session.StorageError)(nil)
	if !errors.As(err, &storage) || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(
		err.Error(), "see to the disk",
	) {
		t.Errorf("%v, want a *StorageError of a full disk", err)
	}
	if refs, err := store.List(t.Context(), owner); len(refs) > 0 || err != nil {
		t.Errorf("%v, %v", refs, err)
	}
}
