package cassette

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// An item written in pieces is the item, wherever it is cut, and reads back.
func TestPiecesAreTheItem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, size := interaction().Draw(t, "interaction"), rapid.IntRange(1, 40).Draw(t, "size")
		var got []byte
		changed := ""
		for piece := range itemPieces(in, size, &changed) {
			got = append(got, piece...)
		}
		if want := appendItem(nil, in); !bytes.Equal(got, want) {
			t.Errorf("in pieces of %d:\n%q\nas a whole:\n%q", size, got, want)
		}
		if changed != "" {
			t.Errorf("the %s does not read back in pieces of %d: %q %q", changed, size, in.Request.Body,
				in.Response.Body)
		}
	})
}

// A part that was written wrongly is noticed before it is in the file.
func TestPartsAreReadBack(t *testing.T) {
	for _, body := range []string{"line one\nline two\n\nline four", "carriage\r\nreturn \"quoted\" \u2028",
		"\xff\x00binary\xfe"} {
		s := newScalar(oneWindow([]byte(body)))
		for p := range s.parts([]byte(body), 9) {
			text := s.encode(nil, p)
			for i := range text {
				wrong := bytes.Clone(text)
				if wrong[i] ^= 1; s.holds(wrong, p) {
					t.Errorf("%q: byte %d of %q may be wrong", body, i, text)
				}
			}
		}
	}
}

// largeBodies are bodies that are written in pieces, in each of the ways.
func largeBodies() map[string]string {
	return map[string]string{
		"lines":    strings.Repeat("data: {\"text\":\"word word word\"}\n\n", largeItem/32),
		"one line": `{"text":"` + strings.Repeat("wörd ", largeItem/4) + `"}`,
		"quoted":   strings.Repeat("data: \"ü\"\r\n\r\n", largeItem/10),
		"binary":   strings.Repeat("\xff\x00\x01", largeItem/2),
	}
}

func TestLargeBodiesAreKept(t *testing.T) {
	for name, body := range largeBodies() {
		path := filepath.Join(t.TempDir(), "x.yaml")
		w, err := Create(path, Meta{Provenance: ProvenanceSynthetic}, CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		in := samples()[0]
		in.Response.Body, in.Timeline, in.Drained = []byte(body), []Chunk{{Length: len(body)}}, 0
		asked := in
		asked.Request.Body, asked.Response.Body, asked.Timeline = []byte(body), []byte("short"), nil
		small := samples()[0]
		for i, err := range w.AppendAll([]Interaction{small, in, small, asked}) {
			if err != nil {
				t.Errorf("%s: interaction %d: %v", name, i, err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c, err := Open(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, want := range []Interaction{small, in, small, asked} {
			got, err := c.At(i)
			if part := firstDifference(want, got); err != nil || part != "" {
				t.Errorf("%s: interaction %d: %v, %s", name, i, err, part)
			}
		}
	}
}

// What cannot be stored is refused before anything of it is written, however large it is.
func TestLargeUntruthfulIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	w, err := Create(path, Meta{Provenance: ProvenanceSynthetic}, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	good, bad := samples()[0], samples()[0]
	bad.Response.Body = []byte(largeBodies()["lines"])
	bad.Timeline = []Chunk{{Length: 1}}
	errs := w.AppendAll([]Interaction{bad, good})
	if !errors.Is(errs[0], ErrInteraction) || errs[1] != nil {
		t.Fatal(errs)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 64<<10 {
		t.Errorf("%v, %v", info.Size(), err)
	}
}

// A large item whose bytes changed is found, by its seal, in the memory of a line.
func TestLargeDamageIsFound(t *testing.T) {
	in := samples()[0]
	in.Response.Body, in.Timeline, in.Drained = []byte(largeBodies()["one line"]), nil, 0
	head := encodeHead(Meta{Version: FormatVersion, Provenance: ProvenanceSynthetic})
	item := appendItem(nil, in)
	last := sum(head).nextSeal(item)
	file := slices.Concat(head, item, []byte(sealLine(0, len(item), last)), []byte(closeLine(1, last)))
	path := filepath.Join(t.TempDir(), "x.yaml")
	for _, at := range []int{-1, len(head) + 3, len(head) + len(item)/2} {
		data := bytes.Clone(file)
		if at >= 0 {
			data[at] ^= 1
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := verifyFile(path); (err == nil) != (at < 0) || at >= 0 && !errors.Is(err, ErrDamaged) {
			t.Errorf("byte %d changed: %v", at, err)
		}
	}
}
