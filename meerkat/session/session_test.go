package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestNewID(t *testing.T) {
	a, err := session.NewID()
	if err != nil {
		t.Fatal(err)
	}
	b, _ := session.NewID()
	if a >= b || a[14] != '7' {
		t.Errorf("%s, %s: want two ids of version 7 in order", a, b)
	}
	if _, err := session.ParseID(string(a)); err != nil {
		t.Error(err)
	}
}

// TestWithLeavesTheOldValue: a Session is a value, also when it grows twice
// from the same state.
func TestWithLeavesTheOldValue(t *testing.T) {
	base, err := session.Load(
		session.Header{Version: 1, ID: "x", Created: epoch}, session.MessageRecord{Message: transcript.User("a")},
	)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := base.With(session.MessageRecord{
		Message: transcript.User("b"),
	}, session.Call{Usage: &transcript.Usage{InputTokens: 1}})
	two, _ := base.With(session.MessageRecord{Message: transcript.User("c")})
	if len(base.Messages) != 1 || one.Last().Content != "b" || two.Last().Content != "c" || two.Usage.Total() != 0 {
		t.Errorf("%v\n%v\n%v", base, one, two)
	}
}

func TestHeaderComesFirstAndOnce(t *testing.T) {
	h := session.Header{Version: 1, ID: "x", Created: epoch}
	for name, records := range map[string][]session.Record{"none": {session.Annotation{}}, "two": {h, h}} {
		if _, err := session.Load(records...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestDigest changes with every byte that the provider sees and with nothing
// else.
func TestDigest(t *testing.T) {
	tool := func(schema string) []transcript.ToolDef {
		return []transcript.ToolDef{{Name: "n", InputSchema: transcript.RawJSON(schema)}}
	}
	seen := map[string]string{}
	for name, c := range map[string]struct {
		system   string
		tools    []transcript.ToolDef
		messages []transcript.Message
	}{
		"base":          {"s", tool(`{}`), []transcript.Message{transcript.User("a")}},
		"system":        {"s ", tool(`{}`), []transcript.Message{transcript.User("a")}},
		"schema spaces": {"s", tool(`{ }`), []transcript.Message{transcript.User("a")}},
		"no tools":      {"s", nil, []transcript.Message{transcript.User("a")}},
		"message":       {"s", tool(`{}`), []transcript.Message{transcript.User("b")}},
		"no message":    {"s", tool(`{}`), nil},
		"two messages":  {"s", tool(`{}`), []transcript.Message{transcript.User("a"), transcript.User("a")}},
	} {
		hash, err := session.Digest(c.system, c.tools, c.messages)
		if err != nil || !strings.HasPrefix(hash, "sha256:") {
			t.Fatalf("%s: %s, %v", name, hash, err)
		}
		if other, ok := seen[hash]; ok {
			t.Errorf("%s and %s have the same digest", name, other)
		}
		seen[hash] = name
	}
}

func TestFind(t *testing.T) {
	ctx := context.Background()
	store := session.NewMemoryStore()
	if _, err := session.Newest(ctx, store); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("Newest of nothing: %v", err)
	}
	for i, id := range []session.ID{
		"0199a2b4-0000-7000-8000-000000000001", "0199a2b4-0000-7000-8000-000000000002",
		"0199a2b5-0000-7000-8000-000000000003",
	} {
		w, err := store.Create(ctx, session.Header{
			Version: 1, ID: id, Created: epoch.Add(time.Duration(i) * time.Second),
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if id, err := session.Find(ctx, store, "0199A2B5"); err != nil || id[7] != '5' {
		t.Errorf("%s, %v", id, err)
	}
	var ambiguous *session.AmbiguousError
	if _, err := session.Find(ctx, store, "0199a2b4"); !errors.As(err, &ambiguous) || len(ambiguous.Candidates) != 2 {
		t.Errorf("%v; want two candidates", err)
	}
	for _, prefix := range []string{"", "ff"} {
		if _, err := session.Find(ctx, store, prefix); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("%q: %v; want ErrNotFound", prefix, err)
		}
	}
	if id, err := session.Newest(ctx, store); err != nil || id[7] != '5' {
		t.Errorf("%s, %v", id, err)
	}
}

func TestMarked(t *testing.T) {
	s, _ := session.Load(
		session.Header{Version: 1, ID: "x"}, session.Annotation{Name: "a", Value: "1"},
		session.Annotation{Name: "a", Value: "2"},
	)
	if v, ok := s.AnnotationValue("a"); !ok || v != "2" {
		t.Errorf("%q, %v", v, ok)
	}
	if _, ok := s.AnnotationValue("b"); ok {
		t.Error("b is marked")
	}
}
