// Package memory keeps sessions in memory for as long as the process lives.
// They pass through the stored form all the same, so that nothing works here
// that would fail on disk, and no caller shares memory with the store.
package memory

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// Store is a session.Store. The zero value is ready for use.
type Store struct {
	mu       sync.Mutex
	sessions map[session.ID]*entry
}

type entry struct {
	info   session.Info
	lines  []byte
	locked bool
}

// New returns an empty Store.
func New() *Store { return &Store{} }

// Create implements session.Store.
func (s *Store) Create(ctx context.Context, h session.Header) (session.Writer, error) {
	if _, err := session.ParseID(string(h.ID)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.sessions[h.ID] != nil {
		s.mu.Unlock()
		return nil, fmt.Errorf("session %s: %w", h.ID, session.ErrExists)
	}
	if s.sessions == nil {
		s.sessions = map[session.ID]*entry{}
	}
	e := &entry{info: session.Info{Header: h}, locked: true}
	s.sessions[h.ID] = e
	s.mu.Unlock()
	w := &writer{store: s, entry: e}
	if err := w.Append(ctx, h); err != nil {
		s.mu.Lock()
		delete(s.sessions, h.ID)
		s.mu.Unlock()
		return nil, err
	}
	return w, nil
}

// Open implements session.Store.
func (s *Store) Open(ctx context.Context, id session.ID) (session.Session, session.Writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.unlocked(ctx, id)
	if err != nil {
		return session.Session{}, nil, err
	}
	out, err := e.load()
	if err != nil {
		return out, nil, err
	}
	e.locked = true
	return out, &writer{store: s, entry: e}, nil
}

// Load implements session.Store.
func (s *Store) Load(ctx context.Context, id session.ID) (session.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(ctx, id)
	if err != nil {
		return session.Session{}, err
	}
	return e.load()
}

// List implements session.Store.
func (s *Store) List(ctx context.Context, f session.Filter) ([]session.Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var infos []session.Info
	for _, e := range s.sessions {
		infos = append(infos, e.info)
	}
	return f.Select(infos), nil
}

// Delete implements session.Store.
func (s *Store) Delete(ctx context.Context, id session.ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.unlocked(ctx, id); err != nil {
		return err
	}
	delete(s.sessions, id)
	return nil
}

func (s *Store) find(ctx context.Context, id session.ID) (*entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if e := s.sessions[id]; e != nil {
		return e, nil
	}
	return nil, session.NotFound(id)
}

func (s *Store) unlocked(ctx context.Context, id session.ID) (*entry, error) {
	e, err := s.find(ctx, id)
	if err == nil && e.locked {
		return nil, &session.LockedError{ID: id}
	}
	return e, err
}

func (e *entry) load() (session.Session, error) {
	p, err := session.Parse("memory", bytes.Clone(e.lines))
	return p.Session, err
}

type writer struct {
	store *Store
	entry *entry
	err   error // the first failure; sticks
}

// Append implements session.Writer.
func (w *writer) Append(ctx context.Context, records ...session.Record) error {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var lines []byte
	for _, r := range records {
		if lines, w.err = session.AppendRecord(lines, r); w.err != nil {
			return w.err
		}
	}
	w.entry.lines = append(w.entry.lines, lines...)
	if at := session.Latest(records...); at.After(w.entry.info.Updated) {
		w.entry.info.Updated = at
	}
	return nil
}

// Close implements session.Writer.
func (w *writer) Close() error {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if w.entry != nil {
		w.err = fmt.Errorf("session %s: %w", w.entry.info.ID, session.ErrClosed)
		w.entry.locked, w.entry = false, nil
	}
	return nil
}
