package stream

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// whatwg holds the framing rules of the standard, one case each.
var whatwg = []struct {
	name, in string
	want     []string // "name|data" of every event
}{
	{"LF", "data: a\n\ndata: b\n\n", []string{"|a", "|b"}},
	{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"|a", "|b"}},
	{"CR", "data: a\r\rdata: b\r\r", []string{"|a", "|b"}},
	{"mixed line ends", "data: a\r\n\ndata: b\n\rdata: c\r\n\r\ndata: d\r\n\r", []string{"|a", "|b", "|c", "|d"}},
	{"byte order mark", "\ufeffdata: a\n\n", []string{"|a"}},
	{"byte order mark only at the start", "data: a\n\n\ufeffdata: b\n\ndata: c\n\n", []string{"|a", "|c"}},
	{"half a byte order mark is text", "\xef\xbbdata: a\n\ndata: b\n\n", []string{"|b"}},
	{"comment", ": hi\ndata: a\n:\n: there\n\n", []string{"|a"}},
	{"several data lines", "data: a\ndata: b\ndata\ndata: c\n\n", []string{"|a\nb\n\nc"}},
	{"one space is dropped", "data:a\n\ndata:  b\n\ndata:\tc\n\n", []string{"|a", "| b", "|\tc"}},
	{"colons in the value", "data: a: b:c\n\n", []string{"|a: b:c"}},
	{"unknown fields", "foo: x\nid: 7\nretry: 10\ndatax: y\ndata : z\ndata: a\nfoo\n\n", []string{"|a"}},
	{"data without colon", "data\n\n", []string{"|"}},
	{"empty data line", "data:\n\ndata: \n\n", []string{"|", "|"}},
	{"event without data", "event: ping\n\ndata: a\n\n", []string{"|a"}},
	{"name", "event: one\ndata: a\n\nevent:two\nevent: three\ndata: b\n\n", []string{"one|a", "three|b"}},
	{"name is reset", "event: one\ndata: a\n\ndata: b\n\n", []string{"one|a", "|b"}},
	{"unterminated event", "data: a\n\ndata: b\n", []string{"|a"}},
	{"unterminated line", "data: a\n\ndata: b", []string{"|a"}},
	{"NEL and LS are text", "data: a\u0085b\u2028c\n\n", []string{"|a\u0085b\u2028c"}},
	{"split UTF-8", "data: é😀\n\n", []string{"|é😀"}},
	{"many blank lines", "\n\n\r\n\r\rdata: a\n\n\n\n", []string{"|a"}},
	{"field names have case", "Data: a\nEVENT: x\ndata: b\n\n", []string{"|b"}},
	{"leading space is no field", " data: a\ndata: b\n\n", []string{"|b"}},
}

// frames returns the events of in, delivered in the given pieces.
func frames(t interface{ Fatal(...any) }, pieces ...string) []string {
	var got []string
	s := NewSSE(0, func(f *Frame) error {
		got = append(got, string(f.Name)+"|"+string(f.Data))
		return nil
	})
	for _, p := range pieces {
		b := []byte(p)
		if n, err := s.Write(b); n != len(b) || err != nil {
			t.Fatal("Write:", n, err)
		}
		clear(b) // nothing may be kept
	}
	s.Close()
	return got
}

func same(a, b []string) bool { return strings.Join(a, "\x00") == strings.Join(b, "\x00") }

func TestSSE(t *testing.T) {
	for _, c := range whatwg {
		t.Run(c.name, func(t *testing.T) {
			if got := frames(t, c.in); !same(got, c.want) {
				t.Errorf("whole: %q, want %q", got, c.want)
			}
			if got := frames(t, strings.Split(c.in, "")...); !same(got, c.want) {
				t.Errorf("rune by rune: %q, want %q", got, c.want)
			}
			for i := range len(c.in) + 1 {
				if got := frames(t, c.in[:i], c.in[i:]); !same(got, c.want) {
					t.Errorf("split at %d: %q, want %q", i, got, c.want)
				}
			}
			if got := frames(t, bytewise(c.in)...); !same(got, c.want) {
				t.Errorf("byte by byte: %q, want %q", got, c.want)
			}
		})
	}
}

func bytewise(s string) []string {
	out := make([]string, len(s))
	for i := range len(s) {
		out[i] = s[i : i+1]
	}
	return out
}

// TestSSERandom: any text, cut anywhere, gives what the whole gives, and the
// whole gives what a line-splitting reading of the standard gives.
func TestSSERandom(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"data: ", "data", "data:", "event: x", ":", "\n", "\r", "\r\n", "a", "", " ", "\ufeff", "é", "\xff", "foo: b",
	})
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), "")
		want := naive(in)
		cuts := rapid.SliceOf(rapid.IntRange(0, len(in))).Draw(t, "cuts")
		if got := frames(t, cutAt(in, cuts)...); !same(got, want) {
			t.Fatalf("%q: %q, want %q", in, got, want)
		}
	})
}

func cutAt(in string, cuts []int) []string {
	mark := make([]bool, len(in)+1)
	for _, c := range cuts {
		mark[c] = true
	}
	var out []string
	last := 0
	for i := range len(in) {
		if mark[i] {
			out, last = append(out, in[last:i]), i
		}
	}
	return append(out, in[last:])
}

// naive follows the standard step by step on a whole text.
func naive(in string) (events []string) {
	in = strings.TrimPrefix(in, "\ufeff")
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(in, "\n")
	var name, data string
	for _, l := range lines[:len(lines)-1] {
		field, value, _ := strings.Cut(l, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case l == "":
			if data != "" {
				events = append(events, name+"|"+strings.TrimSuffix(data, "\n"))
			}
			name, data = "", ""
		case field == "event":
			name = value
		case field == "data":
			data += value + "\n"
		}
	}
	return events
}

func TestSSEDispatchesOnCR(t *testing.T) {
	n := 0
	s := NewSSE(0, func(*Frame) error { n++; return nil })
	_, _ = s.Write([]byte("data: a\r\r"))
	if n != 1 {
		t.Errorf("%d events after CR CR, want 1 without waiting for the next byte", n)
	}
	_, _ = s.Write([]byte("\ndata: b\n\n"))
	if n != 2 {
		t.Errorf("%d events, want the LF after CR to end no second line", n)
	}
}

func TestSSELongLine(t *testing.T) {
	long := strings.Repeat("x", 17<<20)
	in := "data: " + long + "\n\n"
	for _, size := range []int{len(in), 32 << 10} {
		got := 0
		s := NewSSE(0, func(f *Frame) error { got = len(f.Data); return nil })
		for b := []byte(in); len(b) > 0; b = b[min(size, len(b)):] {
			if _, err := s.Write(b[:min(size, len(b))]); err != nil {
				t.Fatal(err)
			}
		}
		if got != len(long) {
			t.Errorf("in pieces of %d: %d bytes of data, want %d", size, got, len(long))
		}
	}
}

func TestSSELimit(t *testing.T) {
	for name, in := range map[string]string{
		"one line":        "data: a\n\ndata: " + strings.Repeat("x", 100) + "\n\n",
		"unfinished line": "data: a\n\ndata: " + strings.Repeat("x", 100),
		"many data lines": "data: a\n\n" + strings.Repeat("data: xxxxxxxxxx\n", 10) + "\n",
	} {
		for _, pieces := range [][]string{{in}, bytewise(in)} {
			n := 0
			s := NewSSE(64, func(*Frame) error { n++; return nil })
			var err error
			for _, p := range pieces {
				if _, err = s.Write([]byte(p)); err != nil {
					break
				}
			}
			var long *LineTooLongError
			if !errors.As(err, &long) || long.Max != 64 || long.Offset != 9 || n != 1 {
				t.Errorf("%s: %v after %d events, want a limit of 64 at byte 9 after 1", name, err, n)
			}
			if !strings.Contains(err.Error(), "Options.MaxLine") {
				t.Errorf("%q does not name the option", err)
			}
		}
	}
}

func TestSSEPositions(t *testing.T) {
	in := "\ufeff: c\r\n\r\nevent: x\r\ndata: a\r\n\r\n\r\ndata: b\n\n"
	for _, pieces := range [][]string{{in}, bytewise(in)} {
		var got []Frame
		s := NewSSE(0, func(f *Frame) error { got = append(got, Frame{N: f.N, Offset: f.Offset}); return nil })
		for _, p := range pieces {
			_, _ = s.Write([]byte(p))
		}
		b := int64(strings.Index(in, "data: b"))
		if len(got) != 2 || got[0].N != 0 || got[0].Offset != 10 || got[1].N != 1 || got[1].Offset != b {
			t.Errorf("%+v, want offsets 10 and %d", got, b)
		}
	}
}

func TestSSEClose(t *testing.T) {
	for in, want := range map[string]string{
		"data: a\n": "a", "data: a": "a", "data: a\r": "a", "event: x\n": "-", "data: a\n\n": "-", ": c": "-", "": "-",
	} {
		s := NewSSE(0, func(*Frame) error { return nil })
		_, _ = s.Write([]byte(in))
		got := "-"
		if f, ok := s.Close(); ok {
			got = string(f.Data)
		}
		if got != want {
			t.Errorf("%q: tail %q, want %q", in, got, want)
		}
	}
}

func TestSSEEmitError(t *testing.T) {
	stop := errors.New("stop")
	s := NewSSE(0, func(f *Frame) error { return stop })
	if _, err := s.Write([]byte("data: a\n\ndata: b\n\n")); !errors.Is(err, stop) {
		t.Errorf("%v, want the error of emit", err)
	}
	if _, err := s.Write([]byte("x")); !errors.Is(err, stop) {
		t.Errorf("%v, want the same error again", err)
	}
}

func TestSSEAllocatesNothing(t *testing.T) {
	chunk := bytes.Repeat([]byte("event: x\ndata: {\"a\":1}\n\ndata: b\r\n\r\n"), 100)
	s := NewSSE(0, func(*Frame) error { return nil })
	for _, size := range []int{len(chunk), 7} {
		write := func() {
			for b := chunk; len(b) > 0; b = b[min(size, len(b)):] {
				_, _ = s.Write(b[:min(size, len(b))])
			}
		}
		write()
		if n := testing.AllocsPerRun(10, write); n != 0 {
			t.Errorf("chunks of %d: %v allocations for 200 events, want none", size, n)
		}
	}
}

// FuzzSSE: no input breaks the reader, and no split changes its events.
func FuzzSSE(f *testing.F) {
	for _, c := range whatwg {
		f.Add([]byte(c.in), byte(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, step byte) {
		want := naive(string(in))
		if got := frames(t, string(in)); !same(got, want) {
			t.Fatalf("whole: %q, want %q", got, want)
		}
		var pieces []string
		n := int(step)%16 + 1
		for s := string(in); len(s) > 0; s = s[min(n, len(s)):] {
			pieces = append(pieces, s[:min(n, len(s))])
		}
		if got := frames(t, pieces...); !same(got, want) {
			t.Fatalf("in pieces of %d: %q, want %q", n, got, want)
		}
	})
}
