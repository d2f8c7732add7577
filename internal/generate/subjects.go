package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/terminal"
)

// subjectRow is what one agent did with one provider by one way in.
type subjectRow struct {
	agent, version, provider, ingress                       string
	cases, passed, findings, known, notTestable, durationMS int64
}

// writeSubjects writes a table in Markdown: a line for each agent, provider and way in of
// the JSON reports.
func writeSubjects(w io.Writer, files []string) error {
	runs, err := readReports(files)
	if err != nil {
		return err
	}
	var rows []*subjectRow
	for _, run := range runs {
		rows = append(rows, subjectRows(run)...)
	}
	return writeAligned(w, subjectCells(rows))
}

// readReports reads JSON reports, in the order of their files.
func readReports(files []string) (runs []*report.Run, err error) {
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		run, err := report.ReadRun(file, data)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// subjectRows counts what a run shows. Cases that were not run count nowhere.
func subjectRows(run *report.Run) (rows []*subjectRow) {
	byCase := map[string]*subjectRow{}
	for _, c := range run.Cases {
		if c.Verdict == report.NotApplicable {
			continue
		}
		i := slices.IndexFunc(rows, func(r *subjectRow) bool {
			return r.provider == c.Provider &&
				r.ingress == c.Ingress
		})
		if i < 0 {
			i = len(rows)
			rows = append(rows, &subjectRow{agent: run.Subject.Name, version: run.Subject.Version, provider: c.Provider,
				ingress: c.Ingress})
		}
		row := rows[i]
		byCase[c.Name] = row
		row.cases++
		row.durationMS += c.DurationMS
		switch c.Verdict {
		case report.Pass:
			row.passed++
		case report.NotTestable:
			row.notTestable++
		default: // the findings tell
		}
	}
	for _, res := range run.Results {
		if row := byCase[res.Case]; row != nil && res.Verdict == report.KnownFail {
			row.known += int64(len(res.Findings))
		} else if row != nil {
			row.findings += int64(len(res.Findings))
		}
	}
	slices.SortFunc(rows, func(a, b *subjectRow) int {
		return cmp.Or(cmp.Compare(a.provider, b.provider), cmp.Compare(b.ingress, a.ingress))
	})
	return rows
}

// subjectCells are the cells of the table with its heading.
func subjectCells(rows []*subjectRow) [][]string {
	cells := [][]string{{"agent", "version", "provider", "ingress", "cases", "passed", "findings", "known",
		"not testable", "seconds"}}
	for _, r := range rows {
		line := []string{r.agent, r.version, r.provider, r.ingress}
		for _, n := range []int64{r.cases, r.passed, r.findings, r.known, r.notTestable, (r.durationMS + 500) / 1000} {
			line = append(line, fmt.Sprint(n))
		}
		for i := range line {
			line[i] = strings.ReplaceAll(terminal.Line(line[i]), "|", `\|`)
		}
		cells = append(cells, line)
	}
	return cells
}

// writeAligned writes a table in Markdown whose columns also stand below each other as text.
func writeAligned(w io.Writer, cells [][]string) error {
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	rule := make([]string, len(widths))
	for i, width := range widths {
		rule[i] = strings.Repeat("-", width)
	}
	var out strings.Builder
	for _, line := range slices.Insert(slices.Clone(cells), 1, rule) {
		for i, cell := range line {
			fmt.Fprintf(&out, "| %-*s ", widths[i], cell)
		}
		out.WriteString("|\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}
