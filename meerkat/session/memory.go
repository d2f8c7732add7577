package session

import (
	"bytes"
	"context"
	"fmt"
	"sync"
)

// MemoryStore is a Store that lives as long as the process. Sessions pass
// through the stored form all the same: what works here also works on disk, and
// no caller shares memory with the store. The zero value is ready for use.
type MemoryStore struct {
	mu       sync.Mutex
	sessions map[ID]*memorySession
}

type memorySession struct {
	info   Info
	lines  []byte
	chain  Chain
	locked bool
}

// NewMemoryStore returns an empty MemoryStore.
func NewMemoryStore() *MemoryStore { return &MemoryStore{} }

// Create implements Store.
func (s *MemoryStore) Create(ctx context.Context, h Header) (Writer, error) {
	if _, err := ParseID(string(h.ID)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.sessions[h.ID] != nil {
		s.mu.Unlock()
		return nil, fmt.Errorf("session %s: %w", h.ID, ErrExists)
	}
	if s.sessions == nil {
		s.sessions = map[ID]*memorySession{}
	}
	m := &memorySession{info: Info{Header: h}, locked: true}
	s.sessions[h.ID] = m
	s.mu.Unlock()
	w := &memoryWriter{store: s, session: m}
	if err := w.Append(ctx, h); err != nil {
		s.mu.Lock()
		delete(s.sessions, h.ID)
		s.mu.Unlock()
		return nil, err
	}
	return w, nil
}

// Open implements Store.
func (s *MemoryStore) Open(ctx context.Context, id ID) (Session, Writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.findUnlocked(ctx, id)
	if err != nil {
		return Session{}, nil, err
	}
	loaded, err := m.parse()
	if err != nil {
		return loaded, nil, err
	}
	m.locked = true
	return loaded, &memoryWriter{store: s, session: m}, nil
}

// Load implements Store.
func (s *MemoryStore) Load(ctx context.Context, id ID) (Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.find(ctx, id)
	if err != nil {
		return Session{}, err
	}
	return m.parse()
}

// List implements Store.
func (s *MemoryStore) List(ctx context.Context, f Filter) ([]Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var infos []Info
	for _, m := range s.sessions {
		infos = append(infos, m.info)
	}
	return f.Select(infos), nil
}

// Delete implements Store.
func (s *MemoryStore) Delete(ctx context.Context, id ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.findUnlocked(ctx, id); err != nil {
		return err
	}
	delete(s.sessions, id)
	return nil
}

func (s *MemoryStore) find(ctx context.Context, id ID) (*memorySession, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if m := s.sessions[id]; m != nil {
		return m, nil
	}
	return nil, NotFound(id)
}

func (s *MemoryStore) findUnlocked(ctx context.Context, id ID) (*memorySession, error) {
	m, err := s.find(ctx, id)
	if err == nil && m.locked {
		return nil, &LockedError{ID: id}
	}
	return m, err
}

func (m *memorySession) parse() (Session, error) {
	p, err := Parse("memory", bytes.Clone(m.lines))
	return p.Session, err
}

type memoryWriter struct {
	store   *MemoryStore
	session *memorySession
	err     error // the first failure; later calls return it as well
}

// Append implements Writer.
func (w *memoryWriter) Append(ctx context.Context, records ...Record) error {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var lines []byte
	chain := w.session.chain
	for _, r := range records {
		if lines, w.err = chain.AppendRecord(lines, r); w.err != nil {
			return w.err
		}
	}
	w.session.lines, w.session.chain = append(w.session.lines, lines...), chain
	if at := Latest(records...); at.After(w.session.info.Updated) {
		w.session.info.Updated = at
	}
	return nil
}

// Close implements Writer.
func (w *memoryWriter) Close() error {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if w.session != nil {
		w.err = fmt.Errorf("session %s: %w", w.session.info.ID, ErrClosed)
		w.session.locked, w.session = false, nil
	}
	return nil
}
