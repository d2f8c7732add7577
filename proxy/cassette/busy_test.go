package cassette

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
)

// Who reads a cassette while it is recorded is told so, and not to recover it.
func TestBusyIsNotUnfinished(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	w, err := Create(path, testMeta, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, opened := Open(path)
	for what, err := range map[string]error{"Open": opened, "Verify": Verify(path), "Unfinished": Unfinished(path)} {
		if !errors.Is(err, ErrBusy) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := w.file.Close(); err != nil { // as a crash does
		t.Fatal(err)
	}
	_, opened = Open(path)
	for what, err := range map[string]error{"Open": opened, "Unfinished": Unfinished(path)} {
		if !errors.Is(err, ErrTorn) {
			t.Errorf("%s after a crash: %v", what, err)
		}
	}
}

// Those who ask whether a recording goes on are not taken for recorders, neither
// by each other nor by one that begins meanwhile, which is marked all the same.
func TestAskersAreNotRecorders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	stop := make(chan struct{})
	var askers sync.WaitGroup
	for range 4 {
		askers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = unlessBusy(path)
				}
			}
		})
	}
	for range 100 {
		w, err := Create(path, testMeta, CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if unlessBusy(path) == nil {
			t.Fatal("a recording that goes on is not marked")
		}
		if err := w.Discard(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	askers.Wait()
}
