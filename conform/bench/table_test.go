package bench

import (
	"fmt"
	"io"
	"strings"
)

// Sum counts rows together.
type Sum struct{ Applied, Found, Missed, Alarms int }

// Rate is the share of the applied faults that were found, in percent; 100 when
// there were none.
func (s Sum) Rate() float64 {
	if s.Applied == 0 {
		return 100
	}
	return 100 * float64(s.Found) / float64(s.Applied)
}

// Sum adds up the rows of the groups named, of all groups without a name.
func (t Table) Sum(groups ...string) Sum {
	var s Sum
	for _, r := range t.Rows {
		if len(groups) > 0 && !containsString(groups, r.Kind.Group) {
			continue
		}
		if r.Kind.Legal {
			s.Alarms += r.Fail + r.Warn
			continue
		}
		s.Applied += r.Applied
		s.Found += r.Fail + r.Warn
		s.Missed += r.Missed
	}
	return s
}

func containsString(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// WriteText writes the sums, then misses and alarms by kind, then every row.
func (t Table) WriteText(w io.Writer) error {
	var out strings.Builder
	t.writeSums(&out)
	t.writeNotes(&out, false)
	t.writeNotes(&out, true)
	t.writeWarnings(&out)
	t.writeRows(&out)
	_, err := io.WriteString(w, out.String())
	return err
}

func (t Table) writeSums(out *strings.Builder) {
	kinds := map[string]map[string]bool{}
	var groups []string
	for _, r := range t.Rows {
		if kinds[r.Kind.Group] == nil {
			kinds[r.Kind.Group] = map[string]bool{}
			groups = append(groups, r.Kind.Group)
		}
		kinds[r.Kind.Group][r.Kind.Name] = true
	}
	for _, g := range groups {
		s := t.Sum(g)
		if g == "legal" {
			fmt.Fprintf(out, "%-12s %3d kinds, %d alarms\n", g, len(kinds[g]), s.Alarms)
			continue
		}
		fmt.Fprintf(out, "%-12s %3d kinds, %4d decidable, %4d found, %3d missed: %.1f %%\n", g, len(kinds[g]), s.Applied, s.Found, s.Missed, s.Rate())
	}
	s := t.Sum()
	fmt.Fprintf(out, "%-12s           %4d decidable, %4d found, %3d missed: %.1f %%, %d alarms\n", "all", s.Applied, s.Found, s.Missed, s.Rate(), s.Alarms)
}

// writeNotes lists each kind with misses, or each with alarms.
func (t Table) writeNotes(out *strings.Builder, legal bool) {
	title := "\nMISSES by kind\n"
	if legal {
		title = "\nALARMS by kind\n"
	}
	out.WriteString(title)
	for _, r := range t.Rows {
		if r.Kind.Legal != legal || len(r.Notes) == 0 {
			continue
		}
		fmt.Fprintf(out, "%s/%s %s (%s): %d of %d\n", r.Kind.Group, r.Kind.Name, r.Provider, r.Kind.Rule, len(r.Notes), r.Applied)
		for _, n := range r.Notes {
			fmt.Fprintf(out, "    %s\n", n)
		}
	}
}

// writeWarnings lists faults that a provider refuses by their form, and that the
// referee only warns about.
func (t Table) writeWarnings(out *strings.Builder) {
	out.WriteString("\nAS WARNING ONLY: kinds of pairs, form and parameters\n")
	for _, r := range t.Rows {
		if r.Warn > 0 && containsString([]string{"pairs", "form", "parameters"}, r.Kind.Group) {
			fmt.Fprintf(out, "%s/%s %s (%s): %d of %d\n", r.Kind.Group, r.Kind.Name, r.Provider, r.Kind.Rule, r.Warn, r.Applied)
		}
	}
}

func (t Table) writeRows(out *strings.Builder) {
	out.WriteString("\nALL KINDS: applied, as fail, as warn, missed, rule cited\n")
	for _, r := range t.Rows {
		fmt.Fprintf(out, "%-11s %-38s %-9s %2d %2d %2d %2d %2d  %s\n", r.Kind.Group, r.Kind.Name, r.Provider, r.Applied, r.Fail, r.Warn, r.Missed, r.Cited, r.Kind.Rule)
	}
}
