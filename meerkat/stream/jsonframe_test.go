package stream

import (
	"strings"
	"testing"
)

// sniffed returns the data of every frame and of the tail, if any.
func sniffed(pieces ...string) (got []string, tail string, err error) {
	emit := func(f *Frame) error { got = append(got, string(f.Data)); return nil }
	s := newSniffer(1<<10, emit)
	for _, p := range pieces {
		b := []byte(p)
		if _, err = s.Write(b); err != nil {
			return got, "", err
		}
		clear(b)
	}
	tail = "-"
	if f, ok := s.Close(); ok {
		tail = string(f.Data)
	}
	return got, tail, nil
}

func TestSniffing(t *testing.T) {
	for _, c := range []struct {
		name, in, want, tail string
	}{
		{"array", `[{"a":1},{"b":[2]}]`, `{"a":1}|{"b":[2]}`, "-"},
		{"pretty array", "\n[ {\n \"a\": 1\n}\r\n,\r\n{}\n]\n", "{\n \"a\": 1\n}|{}", "-"},
		{"brackets in strings", `[{"a":"}]\"{[\\"},{"b":"\\\\"}]`, `{"a":"}]\"{[\\"}|{"b":"\\\\"}`, "-"},
		{"bare object", ` {"error":{"code":1}} `, `{"error":{"code":1}}`, "-"},
		{"byte order mark", "\ufeff[{}]", `{}`, "-"},
		{"open array", `[{"a":1}`, `{"a":1}`, ""},
		{"open element", `[{"a":1},{"b":`, `{"a":1}`, `{"b":`},
		{"empty array", `[]`, ``, "-"},
		{"events", "\n\ndata: {}\n\n", `{}`, "-"},
		{"events after white space and a mark", " \n\ufeff\ndata: {}\n\n", `{}`, "-"},
		{"nothing", "", "", "-"},
	} {
		for _, pieces := range [][]string{{c.in}, bytewise(c.in)} {
			got, tail, err := sniffed(pieces...)
			if err != nil || strings.Join(got, "|") != c.want || tail != c.tail {
				t.Errorf(
					"%s in %d pieces: %q, tail %q, %v; want %q, %q", c.name, len(pieces), got, tail, err, c.want,
					c.tail,
				)
			}
		}
	}
}

func TestJSONFramesRefuse(t *testing.T) {
	for _, in := range []string{
		`[1]`, `[{}]x`, `{} {}`, `[{}][`, `[{} x]`, `["` + strings.Repeat("a", 2000) + `"]`,
		`[{"a":"` + strings.Repeat("a", 2000),
	} {
		for _, pieces := range [][]string{{in}, bytewise(in)} {
			if _, _, err := sniffed(pieces...); err == nil {
				t.Errorf("%.40q in %d pieces: no error", in, len(pieces))
			}
		}
	}
}
