package recorder

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/event"
	_ "github.com/meerkat-go/conformance/wires/all"
)

// A pause is a stall when it is long for people and long for its reply.
func TestStalls(t *testing.T) {
	for _, tt := range []struct {
		seconds []float64
		want    string
	}{
		{[]float64{0, .1, .2, 3.2, 3.3}, "map[3:3s]"},
		{[]float64{0, .01, .02, .52, .53}, "map[]"}, // short for people
		{[]float64{0, 2, 4, 7, 9}, "map[]"},         // it is slow all the time
		{[]float64{5}, "map[]"},
		{nil, "map[]"},
	} {
		var events []event.Event
		for _, s := range tt.seconds {
			events = append(events, event.Event{At: time.Duration(s * float64(time.Second))})
		}
		if got := fmt.Sprint(stallsOf(events)); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.seconds, got, tt.want)
		}
	}
}

// A file may be called like an interaction.
func TestPlaceTakesFilesAsTheyAre(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("odd#1", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string]struct {
		file string
		n    int
	}{"odd#1": {"odd#1", Everything}, "c.yaml#12": {"c.yaml", 12}, "c.yaml": {"c.yaml", Everything}} {
		if file, n, err := parsePlace(arg); err != nil || file != want.file || n != want.n {
			t.Errorf("%s: %s %d %v", arg, file, n, err)
		}
	}
}

func TestWordDiff(t *testing.T) {
	long := strings.Repeat("word ", 40)
	for _, tt := range []struct{ a, b, want string }{
		{"a heron", "a heron", "a heron"},
		{"a heron flew", "a stork flew", "a [-heron-]{+stork+} flew"},
		{"", "x", "{+x+}"},
		{"one two", "one", "one[- two-]"},
		{"the user wants a", "careful with the bytes b", "[-the user wants a-]{+careful with the bytes b+}"},
		{long + "x " + long, long + "y " + long,
			"…" + strings.Repeat("word ", 6) + "[-x-]{+y+}" + strings.Repeat(" word", 6) + "…"},
	} {
		if got := wordDiff(tt.a, tt.b); got != tt.want {
			t.Errorf("%.30q → %.30q:\n got %q\nwant %q", tt.a, tt.b, got, tt.want)
		}
	}
}

// What comes from a cassette cannot steer a terminal.
func TestPrintableIsPlain(t *testing.T) {
	if got := Abbreviate("a\x1b[2Jb\nc\u2028d\u009b"); got != `a\x1b[2Jb\nc\u{2028}d\u{9b}` {
		t.Error(got)
	}
	if got := Abbreviate(strings.Repeat("é", maxShown+1)); got != strings.Repeat("é", maxShown)+"…" {
		t.Error(got)
	}
}

// A cassette of live replies may hold some that the provider did not give.
func TestTotalsCountProvenances(t *testing.T) {
	rows := []row{rowOf(0, cassette.Interaction{End: cassette.EndEOF}),
		rowOf(1, cassette.Interaction{End: cassette.EndEOF, Provenance: cassette.ProvenanceSynthetic})}
	if got := tableTotals(rows); !strings.HasSuffix(got, "; 1 synthetic") {
		t.Error(got)
	}
	if got := tableTotals(rows[:1]); strings.Contains(got, "synthetic") {
		t.Error(got)
	}
}

// Texts of many megabytes are compared without splitting them into words, and shown where they differ.
func TestWordDiffOfLongTexts(t *testing.T) {
	long := strings.Repeat("many words. ", maxDiffed/10)
	if got, want := wordDiff(long+"old"+long, long+"new"+long), "[-old-]{+new+}"; !strings.Contains(got, want) ||
		len(got) > 3*maxMiddle {
		t.Errorf("%d bytes: %.300q", len(got), got)
	}
	if got := wordDiff(long, "short"); !strings.Contains(got, "{+short+}") || len(got) > 3*maxMiddle {
		t.Errorf("%d bytes: %.300q", len(got), got)
	}
}
