package report

import (
	"fmt"
	"slices"
	"strings"
)

// columns of the table of areas; the rare verdicts get one only where they
// occur.
var (
	always = []Verdict{Pass, Fail, Warn, NotApplicable, NotTestable}
	rare   = []Verdict{KnownFail, Stale, Flaky, HarnessError}
	short  = map[Verdict]string{NotApplicable: "n/a"}
)

// table writes one row an area: how many of its requirements got which verdict,
// and in how many places the rules could have been broken.
func (t *Terminal) table(areas []Area) {
	if len(areas) == 0 {
		return
	}
	columns := slices.Clone(always)
	for _, v := range rare {
		if slices.ContainsFunc(areas, func(a Area) bool { return a.Counts[v] > 0 }) {
			columns = append(columns, v)
		}
	}
	fmt.Fprintf(t.w, "\n%-4s", "area")
	for _, v := range columns {
		fmt.Fprintf(t.w, "  %*s", width(v), heading(v))
	}
	fmt.Fprintln(t.w, "  observed")
	for _, a := range areas {
		fmt.Fprint(t.w, t.paint(a.Verdict, fmt.Sprintf("%-4s", a.Area)))
		for _, v := range columns {
			fmt.Fprint(t.w, t.cell(v, a.Counts[v]))
		}
		fmt.Fprintf(t.w, "  %8d\n", a.Observed)
	}
	fmt.Fprintln(t.w)
}

// cell pads before it paints: escape codes have no width. Zeros stay plain.
func (t *Terminal) cell(v Verdict, n int) string {
	if n == 0 {
		return fmt.Sprintf("  %*s", width(v), "·")
	}
	return "  " + t.paint(v, fmt.Sprintf("%*d", width(v), n))
}

func heading(v Verdict) string {
	if s, ok := short[v]; ok {
		return s
	}
	return strings.ReplaceAll(string(v), "-", " ")
}

func width(v Verdict) int { return max(6, len(heading(v))) }
