package tree

import (
	"fmt"
	"strings"
	"testing"
)

func TestReadSSE(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"one", "event: a\ndata: x\n\n", `a "x"`},
		{"crlf", "event: a\r\ndata: x\r\n\r\n", `a "x"`},
		{"cr", "event: a\rdata: x\r\r", `a "x"`},
		{"mixed", "data: x\r\n\ndata: y\n\r\n", ` "x"| "y"`},
		{"bom", "\xEF\xBB\xBFdata: x\n\n", ` "x"`},
		{"bom inside", "data: x\n\n\xEF\xBB\xBFdata: y\n\n", ` "x"|bad 9`},
		{"comment", ": hi\ndata: x\n:\n\n", ` "x"`},
		{"lines of data", "data: x\ndata\ndata:y\n\n", ` "x\n\ny"`},
		{"one space only", "data:  x\n\n", ` " x"`},
		{"no data", "event: a\n\ndata: x\n\n", ` "x"`},
		{"empty data", "data:\n\n", ` ""`},
		{"last one open", "data: x\n\ndata: y\n", ` "x"| "y" open`},
		{"last line open", "data: y", ` "y" open`},
		{"ids", "id: 1\nretry: 5\ndata: x\n\n", ` "x"`},
		{"unknown field", "color: red\ndata: x\n\n", ` "x"|bad 0`},
		{"blank lines", "\n\n\r\ndata: x\n\n\n", ` "x"`},
		{"last event name counts", "event: a\nevent: b\ndata: x\n\n", `b "x"`},
		{"nothing", "", ``},
	} {
		events, bad := ReadSSE(c.body)
		var got []string
		for _, e := range events {
			s := fmt.Sprintf("%s %q", e.Name, e.Data)
			if e.Unterminated {
				s += " open"
			}
			got = append(got, s)
			if !strings.Contains(e.Data, "\n") && !strings.HasPrefix(c.body[e.DataOff:], e.Data) {
				t.Errorf("%s: data is not at byte %d", c.name, e.DataOff)
			}
		}
		for _, b := range bad {
			got = append(got, fmt.Sprintf("bad %d", b))
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}

// FuzzReadSSE: events stand in order, inside the body and apart from each other,
// and read alone they are what they were.
func FuzzReadSSE(f *testing.F) {
	f.Add("event: a\ndata: x\n\n:c\r\ndata: y\rdata: z\r\n\r\ndata")
	f.Fuzz(func(t *testing.T, body string) {
		events, _ := ReadSSE(body)
		last := 0
		for _, e := range events {
			if e.Off < last || e.End <= e.Off || e.End > len(body) || e.DataOff < e.Off || e.DataOff > e.End {
				t.Fatalf("event at %d to %d, data at %d, after %d", e.Off, e.End, e.DataOff, last)
			}
			last = e.End
			alone, _ := ReadSSE(body[e.Off:e.End])
			if len(alone) != 1 || alone[0].Data != e.Data || alone[0].Name != e.Name {
				t.Fatalf("%q alone is %+v", body[e.Off:e.End], alone)
			}
		}
	})
}
