package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/terminal"
)

// maxMarkdown is how many bytes a comment of GitHub may have, with room for a few of
// the caller's.
const maxMarkdown = 65_536 - 1024

// WriteMarkdown writes the report for a pull request: the verdict, the table of areas,
// and the findings, folded. It fits into a comment of GitHub: findings that do not are
// counted. Text of others is escaped.
func (r *Run) WriteMarkdown(w io.Writer) error { return r.view().writeMarkdown(w) }

// WriteMarkdown is as [Run.WriteMarkdown].
func (c *Checked) WriteMarkdown(w io.Writer) error { return c.view().writeMarkdown(w) }

func (v *view) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### conform: %s\n\n**%s** %s\n\n", strings.ToUpper(string(v.summary.Verdict)), MarkdownCode(cutText(v.heading, 300)), v.summary.Coverage)
	v.writeMarkdownTable(&b)
	for _, note := range append(v.warnings, v.notes...) {
		fmt.Fprintf(&b, "- %s\n", MarkdownCode(cutText(note, 500)))
	}
	if len(v.issues) > 0 {
		v.writeMarkdownIssues(&b)
	}
	fmt.Fprintf(&b, "\n%s\n", MarkdownCode(cutText(v.summary.verdictLine(v.counted), 500)))
	_, err := io.WriteString(w, b.String())
	return err
}

func (v *view) writeMarkdownTable(b *strings.Builder) {
	if len(v.summary.Areas) == 0 {
		return
	}
	columns := areaColumns(v.summary.Areas)
	b.WriteString("| area |")
	for _, verdict := range columns {
		fmt.Fprintf(b, " %s |", columnHeading(verdict))
	}
	b.WriteString(" observed |\n|---|" + strings.Repeat("--:|", len(columns)+1) + "\n")
	for _, a := range v.summary.Areas {
		fmt.Fprintf(b, "| %s |", a.Area)
		for _, verdict := range columns {
			if n := a.Counts[verdict]; n > 0 {
				fmt.Fprintf(b, " %d |", n)
			} else {
				b.WriteString(" · |")
			}
		}
		fmt.Fprintf(b, " %d |\n", a.Observed)
	}
	b.WriteString("\n")
}

// areaColumns are the verdicts that a table of areas shows.
func areaColumns(areas []Area) []Verdict {
	columns := slices.Clone(commonColumns)
	for _, v := range rareColumns {
		if slices.ContainsFunc(areas, func(a Area) bool { return a.Counts[v] > 0 }) {
			columns = append(columns, v)
		}
	}
	return columns
}

// writeMarkdownIssues folds the findings, as many as fit.
func (v *view) writeMarkdownIssues(b *strings.Builder) {
	const end = "\n</details>\n"
	reserve := len(end) + 1024 // the last lines
	fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n", countOf(len(v.issues), "finding"))
	for i, is := range v.sorted() {
		text := is.markdownItem()
		if b.Len()+len(text)+reserve > maxMarkdown {
			fmt.Fprintf(b, "- %d more; the JSON report has them\n", len(v.issues)-i)
			break
		}
		b.WriteString(text)
	}
	b.WriteString(end)
}

// markdownItem is one item of the list.
func (i issue) markdownItem() string {
	var b strings.Builder
	fmt.Fprintf(&b, "- **%s** %s", i.verdict, MarkdownCode(cutText(i.titleLine(" "), 300)))
	if text := i.messageText(); text != "" {
		fmt.Fprintf(&b, "<br>%s", MarkdownCode(cutText(text, 600)))
	}
	if i.finding != nil {
		if place := i.finding.Where(); place != "" {
			fmt.Fprintf(&b, "<br>at %s", MarkdownCode(cutText(place, 300)))
		}
		if i.finding.Fix != "" && i.verdict != Contradicted {
			fmt.Fprintf(&b, "<br>fix: %s", MarkdownCode(cutText(i.finding.Fix, 600)))
		}
		for _, line := range i.followLines() {
			fmt.Fprintf(&b, "<br>so also: %s", MarkdownCode(cutText(line, 600)))
		}
	}
	if len(i.others) > 0 {
		fmt.Fprintf(&b, "<br>%s", MarkdownCode(cutText(i.similarText(), 300)))
	}
	return b.String() + "\n"
}

// maxAnnotations bounds the annotations; GitHub shows ten of each kind.
const maxAnnotations = 50

// WriteAnnotations writes workflow commands of GitHub Actions, the worst first: errors
// for what fails the run, warnings for the rest. Text of others is escaped.
func (r *Run) WriteAnnotations(w io.Writer) error { return r.view().writeAnnotations(w) }

// WriteAnnotations is as [Run.WriteAnnotations]; the file is that of the recording.
func (c *Checked) WriteAnnotations(w io.Writer) error { return c.view().writeAnnotations(w) }

func (v *view) writeAnnotations(w io.Writer) error {
	var b strings.Builder
	for _, is := range v.sorted()[:min(maxAnnotations, len(v.issues))] {
		b.WriteString(is.annotationLine() + "\n")
	}
	if left := len(v.issues) - maxAnnotations; left > 0 {
		fmt.Fprintf(&b, "::notice title=conform::%d more findings; the reports have them\n", left)
	}
	kind := "notice"
	if v.summary.Exit != ExitOK {
		kind = "error"
	}
	fmt.Fprintf(&b, "::%s title=conform::%s\n", kind, workflowMessage.Replace(terminal.Line(cutText(v.heading+": "+v.summary.verdictLine(v.counted), 1000))))
	_, err := io.WriteString(w, b.String())
	return err
}

func (i issue) annotationLine() string {
	kind := "warning"
	if i.verdict.Exit() != ExitOK && i.verdict != Contradicted {
		kind = "error"
	}
	properties := "title=" + workflowProperty.Replace(terminal.Line(cutText(i.titleLine(" "), 200)))
	if i.file != "" {
		properties = "file=" + workflowProperty.Replace(terminal.Line(i.file)) + ",line=1," + properties
	}
	text := terminal.Line(cutText(i.messageText(), 2000))
	if i.finding != nil && i.finding.Fix != "" {
		text += "\nfix: " + terminal.Line(cutText(i.finding.Fix, 1000))
	}
	if len(i.others) > 0 {
		text += "\n" + terminal.Line(cutText(i.similarText(), 300))
	}
	if text == "" {
		text = string(i.verdict)
	}
	return fmt.Sprintf("::%s %s::%s", kind, properties, workflowMessage.Replace(text))
}
