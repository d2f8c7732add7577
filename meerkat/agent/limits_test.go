package agent

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// TestPromptLimit: a prompt of exactly the limit is sent; a longer one makes no
// session and changes none.
func TestPromptLimit(t *testing.T) {
	store := session.NewMemoryStore()
	m := &model{replies: []any{text("a")}}
	cfg := config(m, store, nil)
	cfg.MaxPromptBytes = 5
	long := (*PromptTooLongError)(nil)
	if _, err := Run(ctx, cfg, "123456"); !errors.As(err, &long) || long.Bytes != 6 || long.Limit != 5 {
		t.Fatalf("%v", err)
	}
	if infos, err := store.List(ctx, session.Filter{}); err != nil || len(infos) != 0 {
		t.Fatalf("a session for a prompt that was refused: %v, %v", infos, err)
	}
	if _, err := Run(ctx, cfg, "12345"); err != nil {
		t.Fatal(err)
	}
	before := load(t, store)
	if _, err := Resume(ctx, cfg, sessionID, "123456"); !errors.As(err, &long) || ErrorKind(err) != "prompt_too_long" {
		t.Fatalf("%v", err)
	}
	if after := load(t, store); len(after.Timeline) != len(before.Timeline) || len(m.requests) != 1 {
		t.Error("the prompt that was refused left something")
	}
}

// TestStopSequences go with each request for an answer, but not with that for a
// summary, which they could cut.
func TestStopSequences(t *testing.T) {
	store := session.NewMemoryStore()
	m := &model{replies: []any{text("a"), says("end_turn", transcript.Text("summary"))}}
	cfg := config(m, store, nil)
	cfg.StopSequences = []string{"END"}
	_, err := Run(ctx, cfg, "go")
	if err == nil {
		_, err = Compact(ctx, cfg, sessionID)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.requests[0].StopSequences, cfg.StopSequences) || m.requests[1].StopSequences != nil {
		t.Errorf("%v, %v", m.requests[0].StopSequences, m.requests[1].StopSequences)
	}
}

// TestMetadata is written once, survives a resume without any, and what a resume
// adds may not exceed the bounds of the session.
func TestMetadata(t *testing.T) {
	store := session.NewMemoryStore()
	m := &model{replies: []any{text("a"), text("b"), text("c")}}
	cfg := config(m, store, nil)
	cfg.Metadata = map[string]string{"ticket": "42"}
	if _, err := Run(ctx, cfg, "go"); err != nil {
		t.Fatal(err)
	}
	cfg.Metadata = nil
	if _, err := Resume(ctx, cfg, sessionID, "on"); err != nil {
		t.Fatal(err)
	}
	cfg.Metadata = map[string]string{"owner": "ada"}
	if _, err := Resume(ctx, cfg, sessionID, "on"); err != nil {
		t.Fatal(err)
	}
	if got := load(t, store).Metadata; !maps.Equal(got, map[string]string{"ticket": "42", "owner": "ada"}) {
		t.Errorf("%v", got)
	}
	cfg.Metadata = map[string]string{}
	for i := range session.MaxMetadata - 1 {
		cfg.Metadata["n"+strings.Repeat("x", i)] = "v"
	}
	if _, err := Resume(ctx, cfg, sessionID, "on"); err == nil || !strings.Contains(
		err.Error(), "metadata: 33 names are more than the 32",
	) {
		t.Errorf("%v", err)
	}
	for _, r := range m.requests {
		for i := range r.Messages {
			if strings.Contains(r.Messages[i].String()+r.Messages[i].Content+r.System, "ada") {
				t.Error("metadata was sent to the provider")
			}
		}
	}
}
