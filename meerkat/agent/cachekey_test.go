package agent

import (
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// TestCacheKey: a conversation keeps its key as it grows, its forks have it too, and one
// that begins with other words has another.
func TestCacheKey(t *testing.T) {
	keyOf := func(records ...session.Record) string {
		head := session.Header{Version: session.Version, ID: "0199a2b4-0000-7000-8000-000000000001"}
		s, err := session.Load(append([]session.Record{head}, records...)...)
		if err != nil {
			t.Fatal(err)
		}
		return (&state{session: s}).cacheKey()
	}
	said := func(text string) session.Record {
		return session.MessageRecord{At: time.Unix(1, 0), Message: transcript.User(text)}
	}
	prefix := session.Prefix{Provider: "openai", Model: "gpt-5.2", System: "Be brief.", Hash: "sha256:00"}
	other := prefix
	other.Hash = "sha256:01"
	key := keyOf(prefix, said("heron"))
	if len(key) != cacheKeyLength || keyOf(prefix, said("heron"), said("wren")) != key {
		t.Errorf("the key %q changes as the conversation grows", key)
	}
	if keyOf(prefix, said("wren")) == key || keyOf(other, said("heron")) == key {
		t.Errorf("the key %q is that of another beginning, too", key)
	}
	if got := keyOf(prefix); got != "" {
		t.Errorf("the key %q before there is a message", got)
	}
}
