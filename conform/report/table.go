package report

import (
	"fmt"
	"strings"

	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/specs"
)

// columns of the table of areas; the rare verdicts get one only where they
// occur.
var (
	commonColumns = []Verdict{Pass, Fail, Warn, NotApplicable, NotTestable}
	rareColumns   = []Verdict{Contradicted, KnownFail, Stale, Flaky, HarnessError}
	shortHeadings = map[Verdict]string{NotApplicable: "n/a"}
)

// writeAreas writes one row an area: how many of its requirements got which verdict,
// and in how many places the rules could have been broken.
func (t *Terminal) writeAreas(areas []Area) {
	if len(areas) == 0 {
		return
	}
	columns := areaColumns(areas)
	fmt.Fprintf(t.w, "\n%-*s", areaWidth, "area")
	for _, v := range columns {
		fmt.Fprintf(t.w, "  %*s", columnWidth(v), columnHeading(v))
	}
	fmt.Fprintln(t.w, "  observed")
	for _, a := range areas {
		name := fmt.Sprintf("%-4s %s", terminal.Line(a.Area), specs.AreaName(a.Area))
		fmt.Fprint(t.w, t.paint(a.Verdict, fmt.Sprintf("%-*s", areaWidth, name)))
		for _, v := range columns {
			fmt.Fprint(t.w, t.tableCell(v, a.Counts[v]))
		}
		fmt.Fprintf(t.w, "  %8d\n", a.Observed)
	}
	fmt.Fprintln(t.w)
}

// areaWidth is that of the longest id and name of an area.
const areaWidth = 24

// tableCell pads before it paints: escape codes have no width. Zeros stay plain.
func (t *Terminal) tableCell(v Verdict, n int) string {
	if n == 0 {
		return fmt.Sprintf("  %*s", columnWidth(v), "·")
	}
	return "  " + t.paint(v, fmt.Sprintf("%*d", columnWidth(v), n))
}

func columnHeading(v Verdict) string {
	if s, ok := shortHeadings[v]; ok {
		return s
	}
	return strings.ReplaceAll(string(v), "-", " ")
}

func columnWidth(v Verdict) int { return max(5, len(columnHeading(v))) }
