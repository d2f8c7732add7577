package jsonl_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
	"github.com/meerkat-go/conformance/meerkat/session/storetest"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

const id = session.ID("0199a2b4-0000-7000-8000-000000000001")

var (
	ctx   = context.Background()
	epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

func openStore(t *testing.T) *jsonl.Store {
	t.Helper()
	return jsonl.New(filepath.Join(t.TempDir(), "a", "b"), func() time.Time { return epoch })
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) session.Store { return openStore(t) })
}

// writeSession stores one session of n messages and returns the bytes of its file.
func writeSession(tb testing.TB, store *jsonl.Store, n int) []byte {
	tb.Helper()
	w, err := store.Create(ctx, session.Header{Version: 1, ID: id, Created: epoch, Model: "m"})
	if err != nil {
		tb.Fatal(err)
	}
	for i := range n {
		if err := w.Append(ctx, session.MessageRecord{
			At: epoch, Message: transcript.User(fmt.Sprint("message ", i)),
		}); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	data, err := os.ReadFile(store.Path(id))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// TestModes keeps what a session holds from everybody else.
func TestModes(t *testing.T) {
	store := openStore(t)
	writeSession(t, store, 1)
	for path, want := range map[string]os.FileMode{store.Path(id): 0o600, filepath.Dir(store.Path(id)): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
}

// TestGolden holds the first bytes of the format.
func TestGolden(t *testing.T) {
	const want = `{"record":"header","version":1,"id":"0199a2b4-0000-7000-8000-000000000001","created_at":"2026-01-02T03:04:05Z","model":"m","crc32c":"c06cb581"}
{"record":"message","at":"2026-01-02T03:04:05Z","message":{"role":"user","content":"message 0"},"prev":"c06cb581","crc32c":"58b9d72f"}
`
	if got := string(writeSession(t, openStore(t), 1)); got != want {
		t.Errorf("have %s\nwant %s", got, want)
	}
}

// TestKilledAtAnyByte cuts the file everywhere behind its header. Each cut must
// open, keep every whole record, write its repair down and go on.
func TestKilledAtAnyByte(t *testing.T) {
	store := openStore(t)
	whole := writeSession(t, store, 3)
	head := bytes.IndexByte(whole, '\n') + 1
	for cut := head; cut <= len(whole); cut++ {
		if err := os.WriteFile(store.Path(id), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		lines := bytes.Count(whole[head:cut], []byte{'\n'})
		unended := cut < len(whole) && whole[cut] == '\n'
		if unended {
			lines++ // all of the record is there, only its newline is not
		}
		loaded, err := store.Load(ctx, id)
		if err != nil || len(loaded.Messages) != lines {
			t.Fatalf("cut %d: Load holds %d messages, %v; want %d", cut, len(loaded.Messages), err, lines)
		}
		got, w, err := store.Open(ctx, id)
		if err != nil || len(got.Messages) != lines {
			t.Fatalf("cut %d: Open holds %d messages, %v; want %d", cut, len(got.Messages), err, lines)
		}
		if err := errors.Join(
			w.Append(ctx, session.MessageRecord{At: epoch, Message: transcript.User("next")}), w.Close(),
		); err != nil {
			t.Fatal(err)
		}
		after, err := store.Load(ctx, id)
		if err != nil || len(after.Messages) != lines+1 || after.Last().Content != "next" {
			t.Fatalf("cut %d: after the repair %d messages, %v", cut, len(after.Messages), err)
		}
		data, _ := os.ReadFile(store.Path(id))
		torn := whole[head+bytes.LastIndexByte(whole[head-1:cut], '\n') : cut]
		if want := len(torn) > 0; bytes.Contains(data, []byte(`"record":"repair"`)) != want {
			t.Fatalf("cut %d: a repair record: want %v in\n%s", cut, want, data)
		}
	}
}

// TestTornTails opens files that end as real crashes left them.
func TestTornTails(t *testing.T) {
	for name, tail := range map[string]string{
		"zeros of delayed allocation": "\x00\x00\x00\x00",
		"zeros and a newline":         "\x00\x00\n",
		"zeros behind half a record":  "{\"record\":\x00\x00",
		"half a rune":                 `{"record":"message","message":{"role":"user","content":"` + "\xf0\x9f",
		"torn, then blank lines":      "{\"record\":\"mess\n\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			store := openStore(t)
			whole := writeSession(t, store, 1)
			if err := os.WriteFile(store.Path(id), append(whole, tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			s, w, err := store.Open(ctx, id)
			if err != nil || len(s.Messages) != 1 {
				t.Fatalf("%d messages, %v", len(s.Messages), err)
			}
			_ = w.Close()
			data, _ := os.ReadFile(store.Path(id))
			r, err := session.DecodeRecord(data[len(whole):])
			if err != nil || string(r.(session.Repair).Dropped) != tail {
				t.Errorf("repair %v, %v; want %q kept", r, err, tail)
			}
		})
	}
}

// TestNewlineLost: zeros in the place of a newline, as a file system leaves them
// whose next block was lost, cost no record.
func TestNewlineLost(t *testing.T) {
	for _, zeros := range []string{"\x00", "\x00\x00\x00", "\x00\n", "\x00\x00\n\n"} {
		store := openStore(t)
		whole := writeSession(t, store, 2)
		if err := os.WriteFile(store.Path(id), append(whole[:len(whole)-1], zeros...), 0o600); err != nil {
			t.Fatal(err)
		}
		s, w, err := store.Open(ctx, id)
		if err != nil || len(s.Messages) != 2 {
			t.Fatalf("%q: %d messages, %v", zeros, len(s.Messages), err)
		}
		if err := errors.Join(w.Append(ctx, session.Annotation{At: epoch, Name: "m"}), w.Close()); err != nil {
			t.Fatal(err)
		}
		if s, err := store.Load(ctx, id); err != nil || len(s.Messages) != 2 || len(s.Annotations) != 1 {
			t.Errorf("%q: %+v, %v", zeros, s.Timeline, err)
		}
	}
}

// withoutChecksums removes the checksums: sessions of older programs have none.
func withoutChecksums(s string) string {
	return regexp.MustCompile(`,"(crc32c|prev)":"[0-9a-f]{8}"`).ReplaceAllString(s, "")
}

// TestDamage refuses a file that is damaged before its end, names the place,
// and leaves every byte as it was.
func TestDamage(t *testing.T) {
	const message = `{"record":"message","at":"2026-01-02T03:04:05Z","message":`
	for name, c := range map[string]struct {
		change func(string) string
		want   string
	}{
		"torn record in the middle": {
			func(s string) string { return strings.Replace(withoutChecksums(s), `0"}}`, ``, 1) }, ":2: damaged record",
		},
		"fused records": {
			func(s string) string { return strings.Replace(withoutChecksums(s), "}}\n", "}}", 1) },
			":2: damaged record",
		},
		"one letter changed": {
			func(s string) string { return strings.Replace(s, "message 1", "massage 1", 1) },
			":3: damaged record (its checksum does not fit)",
		},
		"a year changed": {
			func(s string) string { return strings.Replace(s, `"created_at":"2026`, `"created_at":"2025`, 1) },
			":1: damaged record (its checksum does not fit)",
		},
		"zeros in the middle": {
			func(s string) string { return strings.Replace(s, "message 1", "\x00\x00", 1) }, ":3: damaged record",
		},
		"record of no kind": {func(s string) string { return s + "{}\n" }, `:4: damaged record (not a record`},
		"message of no role": {
			func(s string) string { return s + message + "{}}\n" },
			":4: damaged record (transcript: message: role: missing)",
		},
		"second header": {func(s string) string { return s + s[:strings.Index(s, "\n")+1] }, ":4: damaged record"},
		"no header":     {func(s string) string { return s[strings.Index(s, "\n")+1:] }, ":1: damaged record"},
		"empty":         {func(string) string { return "" }, ":1: damaged record (the header is missing)"},
		"torn header":   {func(s string) string { return s[:20] }, ":1: damaged record"},
		"other session": {
			func(s string) string { return strings.Replace(withoutChecksums(s), "0199a2b4", "0199a2b5", 1) },
			"it belongs to session 0199a2b5",
		},
		"prefix that was edited": {func(s string) string {
			return s + `{"record":"prefix","system":"x","tools":[],"hash":"sha256:0"}` + "\n"
		}, "do not match their hash"},
		"newer version": {
			func(s string) string { return strings.Replace(s, `"version":1`, `"version":2`, 1) + "torn" },
			"session format 2 is newer than 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := openStore(t)
			bad := c.change(string(writeSession(t, store, 2)))
			if err := os.WriteFile(store.Path(id), []byte(bad), 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := store.Open(ctx, id)
			_, loadErr := store.Load(ctx, id)
			for _, err := range []error{err, loadErr} {
				if err == nil || !strings.Contains(err.Error(), c.want) ||
					!strings.Contains(err.Error(), store.Path(id)) {
					t.Errorf("%v\nwant %q and the file in it", err, c.want)
				}
			}
			if data, _ := os.ReadFile(store.Path(id)); string(data) != bad {
				t.Errorf("the file was changed to %q", data)
			}
		})
	}
}

// TestListShowsDamage neither hides a bad session nor lets it hide the others,
// and reads no further than the first line.
func TestListShowsDamage(t *testing.T) {
	store := openStore(t)
	whole := writeSession(t, store, 1)
	if err := os.WriteFile(store.Path(id), append(whole, "garbage in the body\nmore\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	bad := store.Path("0199a2b4-0000-7000-8000-000000000002")
	for path, text := range map[string]string{bad: "{", filepath.Join(filepath.Dir(bad), "notes.txt"): "x"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	infos, err := store.List(ctx, session.Filter{})
	if err != nil || len(infos) != 2 {
		t.Fatalf("%v, %v", infos, err)
	}
	for _, i := range infos {
		if (i.Problem != nil) != (i.ID != id) {
			t.Errorf("%+v", i)
		}
	}
}

// TestNoWayOut: an id that is none leads to no file of another folder.
func TestNoWayOut(t *testing.T) {
	store := openStore(t)
	whole := writeSession(t, store, 1)
	dir := filepath.Dir(store.Path(id))
	outside := filepath.Join(filepath.Dir(dir), string(id)+".jsonl")
	if err := os.WriteFile(outside, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	other := session.ID("../" + string(id))
	_, err := store.Load(ctx, other)
	_, _, openErr := store.Open(ctx, other)
	for _, err := range []error{err, openErr, store.Delete(ctx, other)} {
		if !errors.Is(err, session.ErrNotFound) {
			t.Errorf("%v, want ErrNotFound", err)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

// TestReplacedUnderTheLock: a writer whose file somebody removed, or replaced
// as editors do, says so instead of writing to nowhere.
func TestReplacedUnderTheLock(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+"~", nil, 0o600), os.Rename(path+"~", path))
		},
	} {
		store := openStore(t)
		writeSession(t, store, 1)
		_, w, err := store.Open(ctx, id)
		if err := errors.Join(err, change(store.Path(id))); err != nil {
			t.Fatal(err)
		}
		err = w.Append(ctx, session.Annotation{At: epoch, Name: "m"})
		if err == nil || !strings.Contains(err.Error(), store.Path(id)) || !strings.Contains(
			err.Error(), "removed or replaced",
		) {
			t.Errorf("%s: %v", name, err)
		}
		_ = w.Close()
	}
}

// TestSymlink: a session may lie elsewhere and be linked here.
func TestSymlink(t *testing.T) {
	store := openStore(t)
	writeSession(t, store, 1)
	path := store.Path(id)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := errors.Join(os.Rename(path, elsewhere), os.Symlink(elsewhere, path)); err != nil {
		t.Fatal(err)
	}
	s, w, err := store.Open(ctx, id)
	if err != nil || len(s.Messages) != 1 {
		t.Fatal(s, err)
	}
	if err := errors.Join(w.Append(ctx, session.Annotation{At: epoch, Name: "m"}), w.Close()); err != nil {
		t.Fatal(err)
	}
	if s, err := store.Load(ctx, id); err != nil || len(s.Annotations) != 1 {
		t.Errorf("%+v, %v", s.Annotations, err)
	}
}

// TestListBoundsTheHeader reads no file to its end because its first line has
// none.
func TestListBoundsTheHeader(t *testing.T) {
	store := openStore(t)
	writeSession(t, store, 1)
	if err := os.Truncate(store.Path(id), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(store.Path(id), 1<<40); err != nil { // zeros, none of them there
		t.Skip("no files with holes here:", err)
	}
	infos, err := store.List(ctx, session.Filter{})
	if err != nil || len(infos) != 1 || infos[0].Problem == nil {
		t.Errorf("%+v, %v", infos, err)
	}
}

// TestNotBegun: a kill before the header leaves a file without a byte. It is
// nobody's newest session.
func TestNotBegun(t *testing.T) {
	store := openStore(t)
	writeSession(t, store, 1)
	if err := os.WriteFile(store.Path("0199a2b4-0000-7000-8000-000000000002"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := session.Newest(ctx, store); got != id || err != nil {
		t.Errorf("%s, %v; want %s", got, err, id)
	}
}

// TestUnknownRecords of a newer writer are skipped, and stay in the file.
func TestUnknownRecords(t *testing.T) {
	store := openStore(t)
	whole := append(writeSession(t, store, 1), "{\"record\":\"steering\",\"x\":1}\n"...)
	if err := os.WriteFile(store.Path(id), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	_, w, err := store.Open(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Append(ctx, session.Annotation{At: epoch, Name: "m"}), w.Close()); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(store.Path(id)); !bytes.HasPrefix(data, whole) {
		t.Errorf("%s", data)
	}
}

// FuzzParse never panics and never loses a good record before the damage.
func FuzzParse(f *testing.F) {
	whole := writeSession(f, jsonl.New(f.TempDir(), nil), 2)
	f.Add(whole)
	f.Add(whole[:len(whole)-5])
	f.Add([]byte("{\"record\":\"header\",\"version\":9}\n\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := session.Parse("f", data)
		if err != nil {
			return
		}
		again, err := session.Parse("f", data[:p.Good])
		if err != nil || again.Good != p.Good || len(again.Session.Messages) != len(p.Session.Messages) {
			t.Fatalf("the intact part parses to %+v, %v; want %+v", again, err, p)
		}
	})
}

// TestListReadsNoBodies lists sessions whose bodies cannot be read at all: a
// listing of many long sessions reads a line of each.
func TestListReadsNoBodies(t *testing.T) {
	const sessions = 200
	dir := t.TempDir()
	for n := range sessions {
		id := fmt.Sprintf("0199a2b4-0000-7000-8000-%012d", n)
		head := fmt.Sprintf(`{"record":"header","version":1,"id":%q,"created_at":"2026-01-02T03:04:05Z"}`+"\n", id)
		f, err := os.OpenFile(filepath.Join(dir, id+".jsonl"), os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString(head)
		// A hole of 1 GB each: whoever read them all would be at it for long.
		if err := errors.Join(err, f.Truncate(1<<30), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	infos, err := jsonl.New(dir, nil).List(ctx, session.Filter{})
	if err != nil || len(infos) != sessions {
		t.Fatalf("%d sessions, %v", len(infos), err)
	}
	for _, i := range infos {
		if i.Problem != nil {
			t.Fatal(i.Problem)
		}
	}
}

// BenchmarkList is the listing of 10,000 sessions.
func BenchmarkList(b *testing.B) {
	dir := b.TempDir()
	for n := range 10000 {
		id := fmt.Sprintf("0199a2b4-0000-7000-8000-%012d", n)
		text := fmt.Sprintf(
			`{"record":"header","version":1,"id":%q,"created_at":"2026-01-02T03:04:05Z"}`+"\n%s\n", id,
			strings.Repeat("body ", 2000),
		)
		if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	store := jsonl.New(dir, nil)
	for b.Loop() {
		if infos, err := store.List(ctx, session.Filter{Limit: 20}); err != nil || len(infos) != 20 {
			b.Fatal(len(infos), err)
		}
	}
}

// BenchmarkCheckpoint appends one turn, fsync included, beside a bare write and
// fsync of as many bytes. The cost must not grow with the session.
func BenchmarkCheckpoint(b *testing.B) {
	b.Run("bare_write_and_fsync", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "f"))
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		for line := bytes.Repeat([]byte("text "), 240); b.Loop(); {
			if _, err := f.Write(line); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, n := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprint(n, "_messages"), func(b *testing.B) {
			store := jsonl.New(b.TempDir(), nil)
			w, err := store.Create(ctx, session.Header{Version: 1, ID: id, Created: epoch})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = w.Close() }()
			turn := session.MessageRecord{At: epoch, Message: transcript.User(strings.Repeat("text ", 200))}
			fill := make([]session.Record, n)
			for i := range fill {
				fill[i] = turn
			}
			if err := w.Append(ctx, fill...); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := w.Append(ctx, turn, session.Checkpoint{
					At: epoch, Reason: session.ReasonAssistant,
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestEveryDamage holds the store to session.Store's promise about damage.
func TestEveryDamage(t *testing.T) {
	storetest.RunDamage(t, func(t *testing.T) (session.Store, storetest.Lines) {
		store := openStore(t)
		return store, files{store}
	})
}

// files gives access to the lines of a store.
type files struct{ *jsonl.Store }

func (f files) Read(t *testing.T, id session.ID) []byte {
	t.Helper()
	data, err := os.ReadFile(f.Path(id))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (f files) Replace(t *testing.T, id session.ID, lines []byte) {
	t.Helper()
	if err := os.WriteFile(f.Path(id), lines, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSessionsOfOlderPrograms: a session whose lines name no line before them
// loads, and is tied together from its next record on. An older program may go
// on with it in between.
func TestSessionsOfOlderPrograms(t *testing.T) {
	store := openStore(t)
	old := withoutChecksums(string(writeSession(t, store, 2)))
	if err := os.WriteFile(store.Path(id), []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	appendMessages := func(texts ...string) {
		s, w, err := store.Open(ctx, id)
		if err != nil {
			t.Fatal(len(s.Messages), err)
		}
		for _, text := range texts {
			err = errors.Join(err, w.Append(ctx, session.MessageRecord{At: epoch, Message: transcript.User(text)}))
		}
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	appendMessages("new 1", "new 2")
	data := files{store}.Read(t, id)
	if n := bytes.Count(data, []byte(`,"prev":"`)); n != 2 || !bytes.HasPrefix(data, []byte(old)) {
		t.Fatalf("%d lines are tied to the line before; want 2:\n%s", n, data)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	for at := 2; at < 4; at++ { // the last old line and the first new one
		files{store}.Replace(t, id, bytes.Join(append(append([][]byte{}, lines[:at]...), lines[at+1:]...), nil))
		if _, err := store.Load(ctx, id); !errors.As(err, new(*session.CorruptError)) {
			t.Errorf("line %d was lost: %v; want *CorruptError", at+1, err)
		}
	}
	unchained := regexp.MustCompile(`,"prev":"[0-9a-f]{8}"`).ReplaceAllString(string(lines[4]), "")
	files{store}.Replace(t, id, []byte(string(data)+withoutChecksums(unchained)))
	appendMessages("new 3")
	if s, err := store.Load(ctx, id); err != nil || len(s.Messages) != 6 {
		t.Errorf("%d messages, %v; want 6", len(s.Messages), err)
	}
}
