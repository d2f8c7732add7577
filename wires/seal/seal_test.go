package seal

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	key   = NewKey("seed")
	facts = Facts{Origin: "anthropic/signature", Model: "claude-opus-4-5", Content: []byte("Two lookups are needed.")}
	place = Place{Reply: "msg_01", Ordinal: 1, Total: 3}
	at    = time.Unix(1_795_000_000, 0)
)

func TestEnvelopeShape(t *testing.T) {
	token := key.Envelope(facts, place)
	if !strings.HasPrefix(token, "E") || len(token) < 200 {
		t.Errorf("%d characters %.10s…: real ones start with E and have 200 or more", len(token), token)
	}
	if _, err := base64.StdEncoding.DecodeString(token); err != nil {
		t.Error(err)
	}
	if empty := key.Envelope(Facts{Origin: "anthropic/redacted"}, Place{}); len(empty) < 200 {
		t.Errorf("a token for nothing has %d characters", len(empty))
	}
}

func TestFernetShape(t *testing.T) {
	seen := map[string]Stage{}
	for _, stage := range []Stage{StageAdded, StageDone, StageCompleted} {
		token := key.Fernet(facts, place, stage, at)
		raw, err := base64.URLEncoding.DecodeString(token)
		if err != nil || !strings.HasPrefix(token, "gAAAAA") {
			t.Errorf("%s: %.12s…: %v", stage, token, err)
		}
		if blocks := len(raw) - 1 - 8 - 32; blocks%16 != 0 {
			t.Errorf("%s: %d bytes between time and MAC are not whole blocks", stage, blocks)
		}
		if other, ok := seen[token]; ok {
			t.Errorf("%s and %s show the same string", stage, other)
		}
		seen[token] = stage
		if got, s, err := key.OpenFernet(facts, token); err != nil || got != place || s != stage {
			t.Errorf("opened %+v of stage %q: %v", got, s, err)
		}
	}
	if a, d := key.Fernet(facts, place, StageAdded, at), key.Fernet(facts, place, StageDone, at); len(a) >= len(d) {
		t.Errorf("added has %d characters, done %d; real ones grow", len(a), len(d))
	}
}

// TestOpensOnlyWithItsFacts changes one fact at a time.
func TestOpensOnlyWithItsFacts(t *testing.T) {
	envelope, fernet := key.Envelope(facts, place), key.Fernet(facts, place, StageDone, at)
	if p, err := key.OpenEnvelope(facts, envelope); err != nil || p != place {
		t.Fatalf("opened %+v: %v", p, err)
	}
	for name, f := range map[string]Facts{
		"origin":  {Origin: "gemini", Model: facts.Model, Content: facts.Content},
		"model":   {Origin: facts.Origin, Model: "claude-opus-4-6", Content: facts.Content},
		"prefix":  {Origin: facts.Origin, Model: facts.Model, Content: facts.Content, Prefix: []byte("x")},
		"content": {Origin: facts.Origin, Model: facts.Model, Content: []byte("Two lookups are needed")},
		"shifted": {Origin: facts.Origin + "c", Model: facts.Model[1:], Content: facts.Content},
	} {
		if _, err := key.OpenEnvelope(f, envelope); !errors.Is(err, ErrBroken) {
			t.Errorf("another %s opens the envelope: %v", name, err)
		}
		if _, _, err := key.OpenFernet(f, fernet); !errors.Is(err, ErrBroken) {
			t.Errorf("another %s opens the encrypted content: %v", name, err)
		}
		if key.Envelope(f, place) == envelope {
			t.Errorf("another %s has the same token", name)
		}
	}
	if _, err := NewKey("other").OpenEnvelope(facts, envelope); !errors.Is(err, ErrBroken) {
		t.Errorf("another key opens it: %v", err)
	}
	other := place
	other.Ordinal++
	if key.Envelope(facts, other) == envelope {
		t.Error("two places have the same token")
	}
}

// TestEveryByteCounts holds that no edit of a token goes unnoticed.
func TestEveryByteCounts(t *testing.T) {
	envelope, _ := base64.StdEncoding.DecodeString(key.Envelope(facts, place))
	fernet, _ := base64.URLEncoding.DecodeString(key.Fernet(facts, place, StageAdded, at))
	for i := range envelope {
		broken := append([]byte(nil), envelope...)
		broken[i] ^= 0x10
		if _, err := key.OpenEnvelope(facts, base64.StdEncoding.EncodeToString(broken)); err == nil {
			t.Fatalf("byte %d of the envelope does not count", i)
		}
	}
	for i := range fernet {
		broken := append([]byte(nil), fernet...)
		broken[i] ^= 0x10
		if _, _, err := key.OpenFernet(facts, base64.URLEncoding.EncodeToString(broken)); err == nil {
			t.Fatalf("byte %d of the encrypted content does not count", i)
		}
	}
	if _, err := key.OpenEnvelope(facts, key.Envelope(facts, place)[:200]); !errors.Is(err, ErrBroken) {
		t.Errorf("a trimmed token opens: %v", err)
	}
}

func TestSeals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := NewKey(rapid.String().Draw(t, "seed"))
		f := Facts{
			Origin: rapid.String().Draw(t, "origin"), Model: rapid.String().Draw(t, "model"),
			Content: rapid.SliceOf(rapid.Byte()).Draw(t, "content"),
		}
		p := Place{Reply: rapid.StringN(0, 80, 200).Draw(t, "reply"), Ordinal: rapid.Uint16().Draw(t, "n"),
			Total: rapid.Uint16().Draw(t, "of")}
		if first, again := k.Envelope(f, p), k.Envelope(f, p); first != again {
			t.Fatal("the same facts give two tokens")
		}
		if got, err := k.OpenEnvelope(f, k.Envelope(f, p)); err != nil || got != p {
			t.Fatalf("got %+v: %v", got, err)
		}
	})
}

// TestSpelling holds that the same bytes in another base64 are an edit.
func TestSpelling(t *testing.T) {
	envelope, fernet := key.Envelope(facts, place), key.Fernet(facts, place, StageDone, at)
	other := strings.NewReplacer("+", "-", "/", "_", "-", "+", "_", "/")
	for name, spell := range map[string]func(string) string{
		"the other alphabet":    other.Replace,
		"a line end inside":     func(s string) string { return s[:76] + "\n" + s[76:] },
		"a line end behind":     func(s string) string { return s + "\r\n" },
		"padding more or less":  func(s string) string { return s + "=" },
		"bits behind the bytes": loosened,
	} {
		for token, open := range map[string]func(string) error{
			envelope: func(s string) error { _, err := key.OpenEnvelope(facts, s); return err },
			fernet:   func(s string) error { _, _, err := key.OpenFernet(facts, s); return err },
		} {
			if spelled := spell(token); spelled != token && open(spelled) == nil {
				t.Errorf("%s: %.20s… opens", name, token)
			}
		}
	}
}

// loosened sets the last of the bits that a padded token has to spare.
func loosened(token string) string {
	bare := strings.TrimRight(token, "=")
	if bare == token {
		return token
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	last := strings.IndexByte(alphabet, bare[len(bare)-1])
	return bare[:len(bare)-1] + alphabet[last+1:last+2] + token[len(bare):]
}

// TestNotes holds that a note travels with its token, and that a place without
// one is none the longer for it.
func TestNotes(t *testing.T) {
	told := place
	told.Note = "said of the thought"
	if got, err := key.OpenEnvelope(facts, key.EnvelopeFor(40, facts, told)); err != nil || got != told {
		t.Errorf("opened %+v: %v", got, err)
	}
	if n := len(told.encode(nil)); n != told.size() {
		t.Errorf("a place with a note has %d bytes, foretold are %d", n, told.size())
	}
	if n := len(place.encode(nil)); n != 6+len(place.Reply) || n != place.size() {
		t.Errorf("a place without a note has %d bytes", n)
	}
	if a, b := key.EnvelopeFor(0, facts, told), key.EnvelopeFor(900, facts, told); len(b)-len(a) < 500 {
		t.Errorf("%d and %d characters: longer thoughts have longer tokens", len(a), len(b))
	}
}

func TestAccount(t *testing.T) {
	for sent, want := range map[string]string{"": "", "test-key": "", "test-key@other": "other", "a@b@c": "c"} {
		if got := Account(sent); got != want {
			t.Errorf("%q: %q, want %q", sent, got, want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(key.Envelope(facts, place))
	f.Add(key.Fernet(facts, place, StageDone, at))
	f.Add("skip_thought_signature_validator")
	f.Fuzz(func(t *testing.T, token string) {
		if _, err := key.OpenEnvelope(facts, token); err != nil && !errors.Is(err, ErrBroken) {
			t.Fatal(err)
		}
		if _, _, err := key.OpenFernet(facts, token); err != nil && !errors.Is(err, ErrBroken) {
			t.Fatal(err)
		}
	})
}
