package artifact_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meerkat-go/conformance/meerkat/artifact"
)

// failingStore fails each second Sweep.
type failingStore struct {
	artifact.Store
	sweeps int
}

func (s *failingStore) Sweep(ctx context.Context, now time.Time) (int, error) {
	if s.sweeps++; s.sweeps%2 == 0 {
		return 0, errors.New("no disk")
	}
	return s.Store.Sweep(ctx, now)
}

// TestKeepSwept: what is kept no longer goes at the next interval, an error is reported and
// ends nothing, and the end of the context does.
func TestKeepSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		memory := artifact.NewMemory(artifact.Options{TTL: 90 * time.Minute, Limits: artifact.Limits{MaxPerSession: 2}})
		store := &failingStore{Store: memory}
		const owner = "0199a2b4-0000-7000-8000-000000000001"
		for range 2 {
			if _, err := store.Put(ctx, owner, []byte("a"), 0); err != nil {
				t.Fatal(err)
			}
		}
		reported, ended := 0, make(chan struct{})
		go func() {
			defer close(ended)
			artifact.KeepSwept(ctx, store, time.Hour, func(error) { reported++ })
		}()
		time.Sleep(150 * time.Minute)
		synctest.Wait()
		if removed, err := memory.Sweep(ctx, time.Now()); store.sweeps != 3 || reported != 1 || removed != 0 ||
			err != nil {
			t.Errorf("%d sweeps, %d errors, %d left, %v", store.sweeps, reported, removed, err)
		}
		stop()
		<-ended
	})
}
