package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// broken is a memory store with one fault. What is nil works.
type broken struct {
	session.Store
	create func(context.Context, session.Header) (session.Writer, error)
	write  func(session.Writer) session.Writer
	open   func(context.Context, session.ID) (session.Session, session.Writer, error)
	load   func(session.Session, error) (session.Session, error)
	list   func([]session.Info, session.Filter) []session.Info
	delete func(context.Context, session.ID) error
}

func (b broken) Create(ctx context.Context, h session.Header) (session.Writer, error) {
	create := b.Store.Create
	if b.create != nil {
		create = b.create
	}
	return b.wrapWriter(create(ctx, h))
}

func (b broken) wrapWriter(w session.Writer, err error) (session.Writer, error) {
	if err == nil && b.write != nil {
		w = b.write(w)
	}
	return w, err
}

func (b broken) Open(ctx context.Context, id session.ID) (session.Session, session.Writer, error) {
	if b.open != nil {
		return b.open(ctx, id)
	}
	s, w, err := b.Store.Open(ctx, id)
	w, err = b.wrapWriter(w, err)
	return s, w, err
}

func (b broken) Load(ctx context.Context, id session.ID) (session.Session, error) {
	s, err := b.Store.Load(ctx, id)
	if b.load != nil {
		s, err = b.load(s, err)
	}
	return s, err
}

func (b broken) List(ctx context.Context, f session.Filter) ([]session.Info, error) {
	if b.list == nil {
		return b.Store.List(ctx, f)
	}
	all, err := b.Store.List(ctx, session.Filter{})
	return b.list(all, f), err
}

func (b broken) Delete(ctx context.Context, id session.ID) error {
	if b.delete != nil {
		return b.delete(ctx, id)
	}
	return b.Store.Delete(ctx, id)
}

type writerFunc struct {
	session.Writer
	append func(context.Context, ...session.Record) error
}

func (w writerFunc) Append(ctx context.Context, r ...session.Record) error {
	return w.append(ctx, r...)
}

// dropsLastRecord acknowledges a batch but keeps all of it except the last record.
func dropsLastRecord(w session.Writer) session.Writer {
	return writerFunc{
		w, func(ctx context.Context, r ...session.Record) error { return w.Append(ctx, r[:max(0, len(r)-1)]...) },
	}
}

// ignoresContext appends although its context has ended.
func ignoresContext(w session.Writer) session.Writer {
	return writerFunc{w, func(_ context.Context,
		r ...session.Record) error {
		return w.Append(context.Background(), r...)
	}} //nolint:contextcheck // its fault
}

// ignoresFailure accepts an append after one that failed.
func ignoresFailure(w session.Writer) session.Writer {
	failed := false
	return writerFunc{w, func(ctx context.Context, r ...session.Record) error {
		err := w.Append(ctx, r...)
		if was := failed; was && !errors.Is(err, session.ErrClosed) {
			return nil
		}
		failed = err != nil && ctx.Err() == nil
		return err
	}}
}

// ignoresClose accepts an append after Close.
func ignoresClose(w session.Writer) session.Writer {
	return writerFunc{w, func(ctx context.Context, r ...session.Record) error {
		if err := w.Append(ctx, r...); !errors.Is(err, session.ErrClosed) {
			return err
		}
		return nil
	}}
}

type blackHole struct{}

func (blackHole) Append(context.Context, ...session.Record) error { return nil }
func (blackHole) Close() error                                    { return nil }

// sortsKeys stores arguments as map[string]any, which sorts their keys.
func sortsKeys(s session.Session, err error) (session.Session, error) {
	for m := range s.Messages {
		for b := range s.Messages[m].Blocks {
			var v any
			if block := &s.Messages[m].Blocks[b]; json.Unmarshal(block.Args, &v) == nil {
				block.Args, _ = json.Marshal(v)
			}
		}
	}
	return s, err
}

func losesUsage(s session.Session, err error) (session.Session, error) { s.Calls = nil; return s, err }

// createsLate creates a session when its first record is appended.
func createsLate(m *session.MemoryStore) broken {
	return broken{Store: m, create: func(_ context.Context, h session.Header) (session.Writer, error) {
		var w session.Writer
		return writerFunc{blackHole{}, func(ctx context.Context, r ...session.Record) (err error) {
			if w == nil {
				w, err = m.Create(ctx, h)
			}
			if err == nil {
				err = w.Append(ctx, r...)
			}
			return err
		}}, nil
	}}
}

// sharesMemory returns its own copy of a session to every caller.
func sharesMemory(m *session.MemoryStore) broken {
	var mu sync.Mutex
	kept := map[session.ID]session.Session{}
	return broken{Store: m, load: func(s session.Session, err error) (session.Session, error) {
		mu.Lock()
		defer mu.Unlock()
		if old, ok := kept[s.ID]; ok && len(old.Timeline) == len(s.Timeline) && old.Updated.Equal(s.Updated) {
			return old, err
		}
		kept[s.ID] = s
		return s, err
	}}
}

// acceptsAnyID creates sessions with ids that are not valid.
func acceptsAnyID(m *session.MemoryStore) broken {
	return broken{Store: m, create: func(ctx context.Context, h session.Header) (session.Writer, error) {
		if _, err := session.ParseID(string(h.ID)); err != nil {
			return blackHole{}, nil //nolint:nilerr // its fault
		}
		return m.Create(ctx, h)
	}}
}

// mixesSessions appends the records of all sessions to the first one as well.
func mixesSessions(m *session.MemoryStore) broken {
	var one session.Writer
	var mu sync.Mutex
	return broken{Store: m, create: func(ctx context.Context, h session.Header) (session.Writer, error) {
		mu.Lock()
		defer mu.Unlock()
		w, err := m.Create(ctx, h)
		if one == nil || err != nil {
			one = w
			return w, err
		}
		return writerFunc{w, func(ctx context.Context, r ...session.Record) error {
			mu.Lock()
			defer mu.Unlock()
			return errors.Join(w.Append(ctx, r...), one.Append(ctx, r...))
		}}, nil
	}}
}

// overwritesSession deletes an existing session when it is created again.
func overwritesSession(m *session.MemoryStore) broken {
	return broken{Store: m, create: func(ctx context.Context, h session.Header) (session.Writer, error) {
		if err := m.Delete(ctx, h.ID); err != nil && !errors.Is(err, session.ErrNotFound) {
			return nil, err
		}
		return m.Create(ctx, h)
	}}
}

// reportsLastTime lists a session with the time of its last record instead of
// the latest time.
func reportsLastTime(all []session.Info, f session.Filter) []session.Info {
	for i := range all {
		if all[i].ID == numberedHeader(1).ID && len(all) == 2 {
			all[i].Updated = epoch
		}
	}
	return f.Select(all)
}

// unstablePages orders sessions of the same time differently on each page.
func unstablePages(all []session.Info, f session.Filter) []session.Info {
	page := f.Select(all)
	if f.Limit == 1 && f.Offset%2 == 1 && all[0].Updated.Equal(all[len(all)-1].Updated) {
		slices.SortFunc(all, func(a, b session.Info) int { return int(b.ID[len(b.ID)-1]) - int(a.ID[len(a.ID)-1]) })
		page = all[:1]
	}
	return page
}

// canaries each break one point of the contract, by the name of its check.
func canaries() map[string]func(*session.MemoryStore) broken {
	return map[string]func(*session.MemoryStore) broken{
		"what is appended is what is loaded, byte for byte":          func(m *session.MemoryStore) broken { return broken{Store: m, load: sortsKeys} },
		"a session is there as soon as Create returns":               createsLate,
		"a record is there as soon as Append returns":                func(m *session.MemoryStore) broken { return broken{Store: m, write: dropsLastRecord} },
		"records add up over several writers":                        func(m *session.MemoryStore) broken { return broken{Store: m, load: losesUsage} },
		"an id is taken once":                                        overwritesSession,
		"a session has one writer":                                   allowsTwoWriters,
		"what does not exist is not found":                           func(m *session.MemoryStore) broken { return broken{Store: m, load: hidesNotFound} },
		"a closed writer appends nothing":                            func(m *session.MemoryStore) broken { return broken{Store: m, write: ignoresClose} },
		"an ended context appends nothing":                           func(m *session.MemoryStore) broken { return broken{Store: m, write: ignoresContext} },
		"a writer that failed stays failed":                          func(m *session.MemoryStore) broken { return broken{Store: m, write: ignoresFailure} },
		"a loaded session is the caller's own":                       sharesMemory,
		"deleted is gone":                                            func(m *session.MemoryStore) broken { return broken{Store: m, delete: neverDeletes} },
		"listing sorts, filters and pages":                           func(m *session.MemoryStore) broken { return broken{Store: m, list: listsEverything} },
		"sessions of one time are listed in one order, page by page": func(m *session.MemoryStore) broken { return broken{Store: m, list: unstablePages} },
		"a clock that goes back does not take a session back":        func(m *session.MemoryStore) broken { return broken{Store: m, list: reportsLastTime} },
		"sessions are independent under concurrency":                 mixesSessions,
		"an id that is not an id is refused":                         acceptsAnyID,
	}
}

// allowsTwoWriters opens a session that already has a writer.
func allowsTwoWriters(m *session.MemoryStore) broken {
	return broken{Store: m, open: func(ctx context.Context, id session.ID) (session.Session, session.Writer, error) {
		s, err := m.Load(ctx, id)
		return s, blackHole{}, err
	}}
}

func hidesNotFound(s session.Session, _ error) (session.Session, error)   { return s, nil }
func neverDeletes(context.Context, session.ID) error                      { return nil }
func listsEverything(all []session.Info, _ session.Filter) []session.Info { return all }

// TestCanaries makes sure that each check finds the fault it is meant for, and
// that every check has a canary.
func TestCanaries(t *testing.T) {
	all := canaries()
	for _, c := range storeChecks() {
		fault := all[c.Name]
		if fault == nil {
			t.Errorf("%s: no canary", c.Name)
			continue
		}
		if err := c.Try(session.NewMemoryStore()); err != nil {
			t.Errorf("%s: a store without fault: %v", c.Name, err)
		}
		err := c.Try(fault(session.NewMemoryStore()))
		if err == nil {
			t.Errorf("%s: the canary passed", c.Name)
		}
		t.Logf("%s: %.120v", c.Name, err)
	}
	if len(all) != len(storeChecks()) {
		t.Errorf("%d canaries for %d checks", len(all), len(storeChecks()))
	}
}
