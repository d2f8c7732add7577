package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/specs"
)

// maxMarkdown is how many bytes a comment of GitHub may have, with room for a few of
// the caller's.
const maxMarkdown = 65_536 - 1024

// maxOpen is how many findings of a Markdown report are open; the others are folded.
const maxOpen = 10

// WriteMarkdown writes the report for a pull request: the verdict and the findings, and folded what
// was not run or not seen and the table of areas. It fits into a comment of GitHub: findings that do
// not are counted. Text of others is escaped.
func (r *Run) WriteMarkdown(w io.Writer) error { return r.view().writeMarkdown(w) }

// WriteMarkdown is as [Run.WriteMarkdown].
func (c *Checked) WriteMarkdown(w io.Writer) error { return c.view().writeMarkdown(w) }

func (v *view) writeMarkdown(w io.Writer) error {
	var b, tail strings.Builder
	fmt.Fprintf(&b, "### conform: %s\n\n**%s** %s\n\n", strings.ToUpper(string(v.summary.Verdict)),
		MarkdownCode(cutText(v.oneLine(), 300)), v.summary.Coverage)
	if reason := v.reason(); reason != "" {
		b.WriteString(MarkdownCode(cutText(reason, 300)) + "\n\n")
	}
	for _, line := range v.warnings {
		fmt.Fprintf(&b, "- %s\n", MarkdownCode(cutText(line, 500)))
	}
	shown := v.sorted()
	isSilent := func(i issue) bool { return i.verdict == NotTestable || i.verdict == KnownFail }
	silent := slices.DeleteFunc(slices.Clone(shown), func(i issue) bool { return !isSilent(i) })
	if n := len(silent) + len(v.notes); n > 0 {
		fmt.Fprintf(&tail, "\n<details><summary>not run, not seen or known: %d</summary>\n\n", n)
		for _, note := range v.notes[:min(maxAnnotations, len(v.notes))] {
			fmt.Fprintf(&tail, "- %s\n", MarkdownCode(cutText(note, 300)))
		}
		writeItems(&tail, silent, maxMarkdown/3)
		tail.WriteString(endDetails)
	}
	v.writeMarkdownTable(&tail)
	fmt.Fprintf(&tail, "\n%s\n", MarkdownCode(cutText(v.summary.verdictLine(v.counted), 500)))

	shown = slices.DeleteFunc(shown, isSilent)
	limit := maxMarkdown - tail.Len() - 200 // the lines around the folded ones
	writeItems(&b, shown[:min(maxOpen, len(shown))], limit)
	if more := len(shown) - maxOpen; more > 0 {
		fmt.Fprintf(&b, "\n<details><summary>%s more</summary>\n\n", countOf(more, "finding"))
		writeItems(&b, shown[maxOpen:], limit)
		b.WriteString(endDetails)
	}
	_, err := io.WriteString(w, b.String()+tail.String())
	return err
}

const endDetails = "\n</details>\n"

func (v *view) writeMarkdownTable(b *strings.Builder) {
	if len(v.summary.Areas) == 0 {
		return
	}
	columns := areaColumns(v.summary.Areas)
	b.WriteString("\n<details><summary>requirements by area</summary>\n\n| area |")
	for _, verdict := range columns {
		fmt.Fprintf(b, " %s |", columnHeading(verdict))
	}
	b.WriteString(" observed |\n|---|" + strings.Repeat("--:|", len(columns)+1) + "\n")
	for _, a := range v.summary.Areas {
		fmt.Fprintf(b, "| %s |", strings.TrimSpace(a.Area+" "+specs.AreaName(a.Area)))
		for _, verdict := range columns {
			if n := a.Counts[verdict]; n > 0 {
				fmt.Fprintf(b, " %d |", n)
			} else {
				b.WriteString(" · |")
			}
		}
		fmt.Fprintf(b, " %d |\n", a.Observed)
	}
	b.WriteString(endDetails)
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

// writeItems lists issues until b has a length, and counts the others.
func writeItems(b *strings.Builder, list []issue, limit int) {
	for i, is := range list {
		text := fmt.Sprintf("- **%s** %s", is.verdict, MarkdownCode(cutText(is.titleLine(" "), 300)))
		if is.side() != "" && (i == 0 || list[i-1].side() == "") {
			text = aboutServer + "\n" + text
		}
		for _, d := range is.detailLines() {
			if d.label != byteMark {
				text += "<br>" + MarkdownCode(cutText(d.String(), 600))
			}
		}
		if b.Len()+len(text) > limit {
			fmt.Fprintf(b, "- %d more; the JSON report has them\n", len(list)-i)
			return
		}
		b.WriteString(text + "\n")
	}
}

// maxAnnotations bounds the annotations; GitHub shows ten of each kind.
const maxAnnotations = 50

// WriteAnnotations writes workflow commands of GitHub Actions, the worst first: errors
// for what fails the run, warnings for the rest. They stand at the line of the agent that its stack
// names, else at the agent's file, else in the file elsewhere, such as that of the workflow. Text of
// others is escaped.
func (r *Run) WriteAnnotations(w io.Writer, elsewhere string) error {
	v, lines := r.view(), map[string]string{}
	for _, c := range r.Cases {
		lines[c.Name] = c.Line
	}
	for i := range v.issues {
		v.issues[i].file = cmp.Or(lines[v.issues[i].where], r.Subject.File)
	}
	return v.writeAnnotations(w, elsewhere)
}

// WriteAnnotations is as [Run.WriteAnnotations]; the file is that of the recording.
func (c *Checked) WriteAnnotations(w io.Writer, elsewhere string) error {
	return c.view().writeAnnotations(w, elsewhere)
}

func (v *view) writeAnnotations(w io.Writer, elsewhere string) error {
	var b strings.Builder
	for _, is := range v.sorted()[:min(maxAnnotations, len(v.issues))] {
		is.file = cmp.Or(is.file, elsewhere)
		b.WriteString(is.annotationLine() + "\n")
	}
	if left := len(v.issues) - maxAnnotations; left > 0 {
		fmt.Fprintf(&b, "::notice title=conform::%d more findings; the reports have them\n", left)
	}
	kind := "notice"
	if v.summary.Exit != ExitOK {
		kind = "error"
	}
	fmt.Fprintf(&b, "::%s title=conform::%s\n", kind,
		workflowMessage.Replace(terminal.Line(cutText(v.oneLine()+": "+v.summary.verdictLine(v.counted), 1000))))
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
		file, line := i.file, "1"
		if at := strings.LastIndexByte(file, ':'); at > 0 && strings.Trim(file[at+1:], "0123456789") == "" {
			file, line = file[:at], cmp.Or(file[at+1:], line)
		}
		properties = "file=" + workflowProperty.Replace(terminal.Line(file)) + ",line=" + line + "," + properties
	}
	text := ""
	for _, d := range i.detailLines() {
		if d.label != byteMark {
			text += terminal.Line(cutText(d.String(), 1000)) + "\n"
		}
	}
	return fmt.Sprintf("::%s %s::%s", kind, properties,
		workflowMessage.Replace(strings.TrimSpace(cmp.Or(text, string(i.verdict)))))
}
