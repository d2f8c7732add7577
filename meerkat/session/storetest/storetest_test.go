package storetest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/memory"
)

// broken is a memory store with one fault.
type broken struct {
	session.Store
	write func(session.Writer) session.Writer
	load  func(session.Session) session.Session
}

func (b broken) Create(ctx context.Context, h session.Header) (session.Writer, error) {
	w, err := b.Store.Create(ctx, h)
	if err == nil && b.write != nil {
		w = b.write(w)
	}
	return w, err
}

func (b broken) Load(ctx context.Context, id session.ID) (session.Session, error) {
	s, err := b.Store.Load(ctx, id)
	if err == nil && b.load != nil {
		s = b.load(s)
	}
	return s, err
}

type writerFunc struct {
	session.Writer
	append func(context.Context, ...session.Record) error
}

func (w writerFunc) Append(ctx context.Context, r ...session.Record) error {
	return w.append(ctx, r...)
}

// forgetLast acknowledges a batch but keeps all of it except the last record.
func forgetLast(w session.Writer) session.Writer {
	return writerFunc{w, func(ctx context.Context, r ...session.Record) error { return w.Append(ctx, r[:max(0, len(r)-1)]...) }}
}

// deafToContext appends although nobody waits for it.
func deafToContext(w session.Writer) session.Writer {
	return writerFunc{w, func(_ context.Context, r ...session.Record) error { return w.Append(context.Background(), r...) }} //nolint:contextcheck // its fault
}

// noLock lets everybody in.
type noLock struct{ session.Store }

func (n noLock) Open(ctx context.Context, id session.ID) (session.Session, session.Writer, error) {
	s, err := n.Load(ctx, id)
	return s, blackHole{}, err
}

type blackHole struct{}

func (blackHole) Append(context.Context, ...session.Record) error { return nil }
func (blackHole) Close() error                                    { return nil }

// sortKeys is what a store over map[string]any does to arguments.
func sortKeys(s session.Session) session.Session {
	for m := range s.Messages {
		for b := range s.Messages[m].Blocks {
			var v any
			if block := &s.Messages[m].Blocks[b]; json.Unmarshal(block.Args, &v) == nil {
				block.Args, _ = json.Marshal(v)
			}
		}
	}
	return s
}

func noUsage(s session.Session) session.Session { s.Calls = nil; return s }

// TestCanaries makes sure that the kit catches what it is there to catch.
func TestCanaries(t *testing.T) {
	for name, store := range map[string]func() session.Store{
		"forgets the last record": func() session.Store { return broken{Store: memory.New(), write: forgetLast} },
		"ignores the context":     func() session.Store { return broken{Store: memory.New(), write: deafToContext} },
		"sorts keys":              func() session.Store { return broken{Store: memory.New(), load: sortKeys} },
		"drops usage records":     func() session.Store { return broken{Store: memory.New(), load: noUsage} },
		"has no lock":             func() session.Store { return noLock{memory.New()} },
	} {
		t.Run(name, func(t *testing.T) {
			var caught []string
			for _, c := range Checks() {
				if c.Try(store()) != nil {
					caught = append(caught, c.Name)
				}
			}
			if caught == nil {
				t.Error("no check caught it")
			}
			t.Log("caught by:", caught)
		})
	}
}
