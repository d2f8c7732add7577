package artifact_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/artifact"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

const owner session.ID = "0199a2b4-0000-7000-8000-000000000001"

// onlyFile returns the file of the only artifact in a folder.
func onlyFile(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.artifact"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v; want one", files, err)
	}
	return files[0]
}

// TestFileModes keeps what an artifact holds from everybody else.
func TestFileModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "artifacts")
	if _, err := artifact.NewFiles(dir, artifact.Options{}).Put(t.Context(), owner, []byte("secret"), 0); err != nil {
		t.Fatal(err)
	}
	file := onlyFile(t, dir)
	for path, want := range map[string]os.FileMode{
		file: 0o600, filepath.Dir(file): 0o700, dir: 0o700, filepath.Join(dir, ".lock"): 0o600,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
}

// TestDamage cuts the file of an artifact everywhere and flips a bit of each byte: it is
// damaged, or as it was.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	store := artifact.NewFiles(dir, artifact.Options{})
	ref, err := store.Put(t.Context(), owner, []byte("content"), 0)
	if err != nil {
		t.Fatal(err)
	}
	path := onlyFile(t, dir)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, file []byte) {
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		data, got, err := store.Get(t.Context(), owner, ref.ID)
		version := (*artifact.VersionError)(nil)
		if err == nil && (string(data) != "content" || got.ID != ref.ID || *got.TTL != *ref.TTL ||
			!got.Created.Equal(ref.Created)) ||
			err != nil && !errors.Is(err, artifact.ErrDamaged) && !errors.As(err, &version) {
			t.Errorf("%s: %q, %+v, %v", what, data, got, err)
		}
		if what == "cut" && err == nil {
			t.Errorf("a file of %d bytes was read", len(file))
		}
	}
	for i := range whole {
		check("cut", whole[:i])
		changed := []byte(string(whole))
		changed[i] ^= 1 << (i % 8)
		check(fmt.Sprintf("a bit of byte %d", i), changed)
	}
	check("longer", append([]byte(string(whole)), 'x'))
}

// TestKilledPut: what a process left that was killed while it wrote is not an artifact,
// does not count, and the sweep removes it.
func TestKilledPut(t *testing.T) {
	dir := t.TempDir()
	store := artifact.NewFiles(dir, artifact.Options{Limits: artifact.Limits{MaxPerSession: 1}})
	torn := filepath.Join(dir, string(owner), ".0123456789abcdef.artifact-123456")
	if err := errors.Join(
		os.MkdirAll(filepath.Dir(torn), 0o700), os.WriteFile(torn, []byte(`{"id"`), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Put(t.Context(), owner, nil, 0); err != nil {
		t.Fatal(err)
	}
	if refs, err := store.List(t.Context(), owner); len(refs) != 1 || err != nil {
		t.Errorf("%v, %v", refs, err)
	}
	if n, err := store.Sweep(t.Context(), time.Now()); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := os.Stat(torn); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the torn file is still there: %v", err)
	}
}

// TestOtherFiles: what is not an artifact stays as it is.
func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	store := artifact.NewFiles(dir, artifact.Options{})
	mine := []string{
		filepath.Join(dir, "notes", ".x.artifact-1"), filepath.Join(dir, string(owner), "notes.artifact"),
		filepath.Join(dir, "README"),
	}
	for _, path := range mine {
		if err := errors.Join(
			os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("mine"), 0o600),
		); err != nil {
			t.Fatal(err)
		}
	}
	ref, err := store.Put(t.Context(), owner, nil, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := store.Sweep(t.Context(), ref.Created.Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for _, path := range mine {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestFolderIsNoFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := artifact.NewFiles(dir, artifact.Options{}).Put(t.Context(), owner, nil, 0)
	if storage := (*session.StorageError)(nil); !errors.As(err, &storage) || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v, want a *StorageError that names the folder", err)
	}
}

// TestForkedFrom: a fork of a fork reads what its origin keeps, deleted sessions end the
// line, and a circle of damaged headers does not.
func TestForkedFrom(t *testing.T) {
	store := session.NewMemoryStore()
	ids := []session.ID{owner, "0199a2b4-0000-7000-8000-000000000002", "0199a2b4-0000-7000-8000-000000000003"}
	w, err := store.Create(t.Context(), session.Header{Version: session.Version, ID: owner})
	if err == nil {
		err = errors.Join(w.Append(t.Context(), session.MessageRecord{Message: transcript.User("hi")}), w.Close())
	}
	for i, id := range ids[1:] {
		if err == nil {
			_, err = session.Branch(t.Context(), store, ids[i], 0, id, time.Now())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	artifacts := artifact.NewMemory(artifact.Options{Ancestors: artifact.ForkedFrom(store)})
	ref, err := artifacts.Put(t.Context(), owner, []byte("a"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := artifacts.Get(t.Context(), ids[2], ref.ID); err != nil {
		t.Error(err)
	}
	if _, _, err := artifacts.Get(
		t.Context(), "0199a2b4-0000-7000-8000-000000000009", ref.ID,
	); !errors.Is(err, artifact.ErrNotFound) {
		t.Errorf("a session that does not exist: %v", err)
	}
	if err := store.Delete(t.Context(), ids[1]); err != nil {
		t.Fatal(err)
	}
	if _, _, err := artifacts.Get(t.Context(), ids[2], ref.ID); !errors.Is(err, artifact.ErrNotFound) {
		t.Errorf("the line is cut, and yet: %v", err)
	}
}

// FuzzParseID: whatever is accepted cannot leave the folder.
func FuzzParseID(f *testing.F) {
	f.Add(string(owner) + ".0123456789abcdef")
	f.Add("../" + string(owner) + ".0123456789abcdef")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := artifact.ParseID(s)
		if err != nil {
			return
		}
		if string(id) != s || strings.ContainsAny(s, `/\`) || len(s) != 36+1+16 ||
			!strings.HasPrefix(s, string(id.Session())) {
			t.Errorf("%q is accepted", s)
		}
	})
}
