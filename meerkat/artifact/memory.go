package artifact

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// NewMemory returns a Store that lives as long as the process.
func NewMemory(o Options) Store {
	return &memoryStore{options: o.withDefaults(), artifacts: map[ID]memoryArtifact{}}
}

type memoryStore struct {
	options   Options
	mu        sync.Mutex
	artifacts map[ID]memoryArtifact
}

type memoryArtifact struct {
	ref  Ref
	data []byte
}

// Put implements Store.
func (s *memoryStore) Put(ctx context.Context, owner session.ID, data []byte, ttl time.Duration) (Ref, error) {
	if err := ctx.Err(); err != nil {
		return Ref{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ref, err := s.options.makeRef(owner, len(data), ttl)
	if err != nil {
		return Ref{}, err
	}
	s.removeExpired(ref.Created)
	if err := s.options.Limits.checkRoom(s.countUsage(owner), ref.Size); err != nil {
		return Ref{}, err
	}
	s.artifacts[ref.ID] = memoryArtifact{ref, bytes.Clone(data)}
	return ref, nil
}

func (s *memoryStore) countUsage(owner session.ID) (have usage) {
	for id, a := range s.artifacts {
		if id.Session() == owner {
			have.ofSession++
		}
		have.total += a.ref.Size
	}
	return have
}

// Get implements Store.
func (s *memoryStore) Get(ctx context.Context, reader session.ID, id ID) ([]byte, Ref, error) {
	if err := ctx.Err(); err != nil {
		return nil, Ref{}, err
	}
	if err := s.options.checkReader(ctx, reader, id); err != nil {
		return nil, Ref{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.artifacts[id]
	if !ok || a.ref.ExpiredAt(s.options.Now()) {
		return nil, Ref{}, notFound(id)
	}
	return bytes.Clone(a.data), a.ref, nil
}

// List implements Store.
func (s *memoryStore) List(ctx context.Context, owner session.ID) ([]Ref, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, err := session.ParseID(string(owner)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var refs []Ref
	for id, a := range s.artifacts {
		if id.Session() == owner && !a.ref.ExpiredAt(s.options.Now()) {
			refs = append(refs, a.ref)
		}
	}
	sortRefs(refs)
	return refs, nil
}

// sortRefs puts the oldest first.
func sortRefs(refs []Ref) {
	slices.SortFunc(refs, func(a, b Ref) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
}

// Delete implements Store.
func (s *memoryStore) Delete(ctx context.Context, owner session.ID, id ID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := checkOwner(owner, id); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.artifacts[id]; !ok || a.ref.ExpiredAt(s.options.Now()) {
		return notFound(id)
	}
	delete(s.artifacts, id)
	return nil
}

// Sweep implements Store.
func (s *memoryStore) Sweep(ctx context.Context, now time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.removeExpired(now), nil
}

func (s *memoryStore) removeExpired(now time.Time) (removed int) {
	for id, a := range s.artifacts {
		if a.ref.ExpiredAt(now) {
			delete(s.artifacts, id)
			removed++
		}
	}
	return removed
}
