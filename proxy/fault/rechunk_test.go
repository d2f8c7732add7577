package fault

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// chunked is a script of these writes, ten milliseconds apart.
func chunked(chunks ...string) Script {
	s := Script{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, End: EOF}
	for i, chunk := range chunks {
		s.Steps = append(s.Steps, Step{At: time.Duration(i) * 10 * time.Millisecond, Data: []byte(chunk)})
	}
	return s
}

func writes(s Script) (out []string) {
	for _, step := range s.Steps {
		out = append(out, string(step.Data))
	}
	return out
}

// drawScript draws a reply of texts that every mode finds places in, cut
// anywhere, with pauses.
func drawScript(r *rapid.T) Script {
	piece := rapid.SampledFrom([]string{"data:", "event:", "id:", "x", "é", "中", "🎉", "\r\n", "\n", "\n\n", "\r",
		"\xff", " "})
	body := strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(r, "body"), "")
	s := Script{End: EOF}
	for at := time.Duration(0); len(body) > 0; at += 3 {
		n := rapid.IntRange(1, len(body)).Draw(r, "chunk")
		hold := rapid.SampledFrom([]time.Duration{0, 0, 0, 7}).Draw(r, "hold")
		s.Steps = append(s.Steps, Step{At: at, Hold: hold, Data: []byte(body[:n])})
		body = body[n:]
	}
	if rapid.Bool().Draw(r, "last hold") {
		s.Steps = append(s.Steps, Step{At: 1000, Hold: 7})
	}
	return s
}

// held are the pauses of a script, by where they are in the body.
func held(s Script) map[int]time.Duration {
	out, at := map[int]time.Duration{}, 0
	for _, step := range s.Steps {
		if step.Hold > 0 {
			out[at] += step.Hold
		}
		at += len(step.Data)
	}
	return out
}

// Whatever the mode: the bytes are the same, pauses stay between the same
// bytes, times do not go backwards, nothing comes before it was recorded, and
// the same seed cuts the same.
func TestRechunkKeeps(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := drawScript(r)
		mode, seed := rapid.SampledFrom(modes).Draw(r, "mode"), rapid.Uint64().Draw(r, "seed")
		before := writes(s)
		got := Rechunk(s, mode, Dice(seed, 3))
		if !bytes.Equal(got.Body(), s.Body()) {
			r.Fatalf("%s: %q became %q", mode, s.Body(), got.Body())
		}
		if !slices.Equal(before, writes(s)) {
			r.Fatalf("%s changed the script it was given", mode)
		}
		if !slices.Equal(writes(got), writes(Rechunk(s, mode, Dice(seed, 3)))) {
			r.Fatalf("%s: seed %d does not repeat", mode, seed)
		}
		for at, hold := range held(s) {
			if held(got)[at] != hold {
				r.Fatalf("%s: pauses %v became %v", mode, held(s), held(got))
			}
		}
		checkTimes(r, s, got)
	})
}

func checkTimes(r *rapid.T, s, got Script) {
	when, at := map[int]time.Duration{}, 0 // of the byte before an offset
	for _, step := range s.Steps {
		for range step.Data {
			at++
			when[at] = step.At
		}
	}
	at = 0
	for _, step := range got.Steps {
		if at += len(step.Data); len(step.Data) > 0 && step.At != when[at] {
			r.Fatalf("a piece that ends at %d comes at %v, its last byte was recorded at %v", at, step.At, when[at])
		}
	}
}

// Each mode keeps its promise wherever the body has a place for it.
func TestRechunkPromise(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := drawScript(r)
		body := s.Body()
		cut := func(mode Mode) map[int]bool {
			cuts := map[int]bool{}
			for _, at := range stepEnds(Rechunk(s, mode, Dice(rapid.Uint64().Draw(r, "seed"))).Steps) {
				cuts[at] = true
			}
			return cuts
		}
		runes, fields, crlf, single := cut(MidRune), cut(MidField), cut(MidCRLF), cut(OneByte)
		for i := range body {
			if !single[i+1] {
				r.Fatalf("1-byte: byte %d has company", i)
			}
			if _, size := utf8.DecodeRune(body[i:]); size > 1 && !anyOf(runes, i+1, i+size) {
				r.Fatalf("mid-rune: %q at %d is whole", body[i:i+size], i)
			}
			if pair := string(body[i:min(i+2, len(body))]); (pair == "\r\n" || pair == "\n\n") && !crlf[i+1] {
				r.Fatalf("mid-crlf: %q at %d is whole", pair, i)
			}
			for _, name := range []string{"data:", "event:", "id:"} {
				begins := i == 0 || body[i-1] == '\n' || body[i-1] == '\r'
				if begins && strings.HasPrefix(string(body[i:]), name) && !anyOf(fields, i+1, i+len(name)) {
					r.Fatalf("mid-field: %q at %d is whole", name, i)
				}
			}
		}
	})
}

// anyOf reports whether a cut lies in from ≤ cut < to.
func anyOf(cuts map[int]bool, from, to int) bool {
	for at := from; at < to; at++ {
		if cuts[at] {
			return true
		}
	}
	return false
}

func TestRechunkModes(t *testing.T) {
	body := []string{"event: a\r\ndata: \"é\"\r\n", "\r\n", "data: b\n\n"}
	for mode, want := range map[Mode][]string{
		Coalesced: {strings.Join(body, "")},
		Blocks:    {strings.Join(body, "")},
		MidCRLF:   {"event: a\r", "\ndata: \"é\"\r", "\n", "\r", "\n", "data: b\n", "\n"},
		MidRune:   {"event: a\r\ndata: \"\xc3", "\xa9\"\r\n", "\r\n", "data: b\n\n"},
		"":        body,
	} {
		if got := writes(Rechunk(chunked(body...), mode, Dice(1))); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", mode, got, want)
		}
	}
	long := chunked(strings.Repeat("x", 100_000), strings.Repeat("y", 100_000))
	var sizes []int
	for _, step := range Rechunk(long, Blocks, Dice(1)).Steps {
		sizes = append(sizes, len(step.Data))
	}
	if !slices.Equal(sizes, []int{65536, 65536, 65536, 3392}) {
		t.Errorf("64k: %v", sizes)
	}
	a, b := writes(Rechunk(long, Random, Dice(1))), writes(Rechunk(long, Random, Dice(2)))
	if slices.Equal(a, b) || len(a) < 100 {
		t.Errorf("random: %d and %d chunks, equal %t", len(a), len(b), slices.Equal(a, b))
	}
}

func TestParseMode(t *testing.T) {
	mode, seed, err := ParseMode("mid-rune:42")
	if err != nil || mode != MidRune || seed == nil || *seed != 42 {
		t.Errorf("%s %v %v", mode, seed, err)
	}
	if mode, seed, err := ParseMode("1-byte"); err != nil || mode != OneByte || seed != nil {
		t.Errorf("%s %v %v", mode, seed, err)
	}
	for text, want := range map[string]string{
		"":          `"": unknown; use one of 1-byte, mid-rune, mid-crlf, mid-field, coalesced, 64k, random`,
		"tiny":      `"tiny": unknown; use one of 1-byte, mid-rune, mid-crlf, mid-field, coalesced, 64k, random`,
		"random:":   `"random:": the seed is not a whole number from 0 to 18446744073709551615`,
		"random:-1": `"random:-1": the seed is not a whole number from 0 to 18446744073709551615`,
	} {
		if _, _, err := ParseMode(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
