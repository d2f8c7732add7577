package artifacttest

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/artifact"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// broken is a memory store with one fault. What is nil works.
type broken struct {
	artifact.Store
	put    func(ctx context.Context, owner session.ID, data []byte, ttl time.Duration) (artifact.Ref, error)
	get    func(data []byte, ref artifact.Ref, err error) ([]byte, artifact.Ref, error)
	list   func(refs []artifact.Ref, err error) ([]artifact.Ref, error)
	delete func(ctx context.Context, owner session.ID, id artifact.ID) error
	sweep  func(ctx context.Context, now time.Time) (int, error)
}

func (b broken) Put(ctx context.Context, owner session.ID, data []byte, ttl time.Duration) (artifact.Ref, error) {
	if b.put != nil {
		return b.put(ctx, owner, data, ttl)
	}
	return b.Store.Put(ctx, owner, data, ttl)
}

func (b broken) Get(ctx context.Context, reader session.ID, id artifact.ID) ([]byte, artifact.Ref, error) {
	data, ref, err := b.Store.Get(ctx, reader, id)
	if b.get != nil {
		return b.get(data, ref, err)
	}
	return data, ref, err
}

func (b broken) List(ctx context.Context, owner session.ID) ([]artifact.Ref, error) {
	refs, err := b.Store.List(ctx, owner)
	if b.list != nil {
		return b.list(refs, err)
	}
	return refs, err
}

func (b broken) Delete(ctx context.Context, owner session.ID, id artifact.ID) error {
	if b.delete != nil {
		return b.delete(ctx, owner, id)
	}
	return b.Store.Delete(ctx, owner, id)
}

func (b broken) Sweep(ctx context.Context, now time.Time) (int, error) {
	if b.sweep != nil {
		return b.sweep(ctx, now)
	}
	return b.Store.Sweep(ctx, now)
}

// opener opens a store that has a fault.
type opener func(artifact.Options) artifact.Store

// ignoring opens a store that ignores some of its options.
func ignoring(change func(*artifact.Options)) opener {
	return func(o artifact.Options) artifact.Store { change(&o); return artifact.NewMemory(o) }
}

// with opens a store with a fault.
func with(fault func(artifact.Store) broken) opener {
	return func(o artifact.Options) artifact.Store { return fault(artifact.NewMemory(o)) }
}

// canaries each break one point of the contract, by the name of its check.
func canaries() map[string]opener {
	return map[string]opener{
		"what is put is what is got, byte for byte": with(func(m artifact.Store) broken {
			return broken{Store: m, get: func(data []byte, ref artifact.Ref, err error) ([]byte, artifact.Ref, error) {
				return bytes.ToValidUTF8(data, []byte("?")), ref, err
			}}
		}),
		"a reference describes its artifact": with(func(m artifact.Store) broken {
			return broken{Store: m, put: func(ctx context.Context, owner session.ID, data []byte, ttl time.Duration) (artifact.Ref, error) {
				return m.Put(ctx, owner, data, ttl.Truncate(time.Second))
			}}
		}),
		"forks and sub-agents read, others do not": ignoring(func(o *artifact.Options) {
			o.Ancestors = func(context.Context, session.ID) ([]session.ID, error) {
				return []session.ID{grandparent, parent, child}, nil
			}
		}),
		"only its own session lists and deletes it":               with(deletesForAnybody),
		"what is stored and returned is the caller's own":         with(sharesMemory),
		"an artifact whose time is up is gone before it is swept": ignoring(func(o *artifact.Options) { o.Now = func() time.Time { return epoch } }),
		"a permanent artifact stays":                              with(forgetsPermanent),
		"a sweep removes what is up, and nothing else": with(func(m artifact.Store) broken {
			return broken{Store: m, sweep: func(ctx context.Context, now time.Time) (int, error) { return m.Sweep(ctx, now.Add(2*time.Hour)) }}
		}),
		"an artifact has a largest size":              ignoring(func(o *artifact.Options) { o.Limits.MaxBytes = 0 }),
		"a session has a largest number of artifacts": ignoring(func(o *artifact.Options) { o.Limits.MaxPerSession = 0 }),
		"all artifacts together have a largest size":  ignoring(func(o *artifact.Options) { o.Limits.MaxTotalBytes = 0 }),
		"what is up takes no room":                    with(countsForever),
		"deleted is gone":                             with(func(m artifact.Store) broken { return broken{Store: m, delete: neverDeletes} }),
		"a list begins with the oldest":               with(func(m artifact.Store) broken { return broken{Store: m, list: newestFirst} }),
		"an ended context does nothing":               with(ignoresContext),
		"limits hold under concurrency":               with(racesForLimits),
		"an id that is not an id is refused":          with(acceptsAnySession),
	}
}

func deletesForAnybody(m artifact.Store) broken {
	return broken{Store: m, delete: func(ctx context.Context, _ session.ID, id artifact.ID) error { return m.Delete(ctx, id.Session(), id) }}
}

// sharesMemory returns the same slice to everybody.
func sharesMemory(m artifact.Store) broken {
	kept := map[artifact.ID][]byte{}
	return broken{Store: m, get: func(data []byte, ref artifact.Ref, err error) ([]byte, artifact.Ref, error) {
		if kept[ref.ID] == nil {
			kept[ref.ID] = data
		}
		return kept[ref.ID], ref, err
	}}
}

func forgetsPermanent(m artifact.Store) broken {
	return broken{Store: m, put: func(ctx context.Context, owner session.ID, data []byte, ttl time.Duration) (artifact.Ref, error) {
		return m.Put(ctx, owner, data, max(ttl, 0))
	}}
}

// countsForever keeps what is up in its count of one session.
func countsForever(m artifact.Store) broken {
	n := 0
	return broken{Store: m, put: func(ctx context.Context, owner session.ID, data []byte, ttl time.Duration) (artifact.Ref, error) {
		if n++; n > 1 {
			return artifact.Ref{}, &artifact.LimitError{Limit: artifact.LimitPerSession, Max: 1, Want: 2}
		}
		return m.Put(ctx, owner, data, ttl)
	}}
}

func neverDeletes(context.Context, session.ID, artifact.ID) error { return nil }

func newestFirst(refs []artifact.Ref, err error) ([]artifact.Ref, error) {
	slices.Reverse(refs)
	return refs, err
}

func ignoresContext(m artifact.Store) broken {
	return broken{Store: m, put: func(_ context.Context, owner session.ID, data []byte, ttl time.Duration) (artifact.Ref, error) {
		return m.Put(context.Background(), owner, data, ttl) //nolint:contextcheck // its fault
	}}
}

// racesForLimits checks the limit of a session before it stores, not while it does.
func racesForLimits(m artifact.Store) broken {
	free := artifact.NewMemory(artifact.Options{})
	var all sync.WaitGroup
	all.Add(16) // so many look before any of them stores
	var seen sync.Mutex
	n := 0
	return broken{Store: free, put: func(ctx context.Context, owner session.ID, data []byte, ttl time.Duration) (artifact.Ref, error) {
		seen.Lock()
		n++
		late := n > 16
		seen.Unlock()
		if late {
			return artifact.Ref{}, &artifact.LimitError{Limit: artifact.LimitPerSession, Max: 8, Want: 9}
		}
		all.Done()
		all.Wait()
		return free.Put(ctx, owner, data, ttl)
	}}
}

func acceptsAnySession(m artifact.Store) broken {
	return broken{Store: m,
		put: func(ctx context.Context, owner session.ID, data []byte, ttl time.Duration) (artifact.Ref, error) {
			if _, err := session.ParseID(string(owner)); err != nil {
				return artifact.Ref{}, nil //nolint:nilerr // its fault
			}
			return m.Put(ctx, owner, data, ttl)
		}}
}

// TestCanaries makes sure that each check finds the fault it is meant for, and that
// every check has a canary.
func TestCanaries(t *testing.T) {
	all := canaries()
	for _, c := range storeChecks() {
		fault := all[c.name]
		if fault == nil {
			t.Errorf("%s: no canary", c.name)
			continue
		}
		if err := c.try(newRig(artifact.NewMemory)); err != nil {
			t.Errorf("%s: a store without fault: %v", c.name, err)
		}
		err := c.try(newRig(fault))
		if err == nil {
			t.Errorf("%s: the canary passed", c.name)
		}
		t.Logf("%s: %.160v", c.name, err)
	}
	if len(all) != len(storeChecks()) {
		t.Errorf("%d canaries for %d checks", len(all), len(storeChecks()))
	}
}
