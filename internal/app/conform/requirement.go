package conform

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/meerkat-go/conformance/specs"
)

// exceptionsText says in one line where the consequence differs, and between which
// days the rule holds.
func exceptionsText(r specs.Requirement) string {
	var parts []string
	if dates := strings.TrimSpace(datesText(r.Since, r.Until)); dates != "" {
		parts = append(parts, dates)
	}
	for _, row := range r.Where {
		parts = append(parts, fmt.Sprintf("%s where %s", row.Consequence, whereText(row)))
	}
	return strings.Join(parts, "; ")
}

// sourceDay is the latest day of a public source, or the word that says that there
// is none.
func sourceDay(r specs.Requirement) string {
	day := ""
	for _, s := range r.Sources {
		day = max(day, s.Retrieved)
	}
	return cmp.Or(day, "unverified")
}

// consequenceText says what a breach leads to, and where that differs.
func consequenceText(r specs.Requirement) string {
	lines := []string{fmt.Sprintf("%s%s: %s", r.Consequence, datesText(r.Since, r.Until), r.Consequence.Meaning())}
	for _, row := range r.Where {
		lines = append(lines, fmt.Sprintf("%s where %s", row.Consequence, whereText(row)))
	}
	return strings.Join(lines, "\n")
}

// whereText says which places a row matches.
func whereText(row specs.Where) string {
	var parts []string
	for _, p := range []struct{ name, value string }{
		{"provider is", strings.Join(row.Provider, " or ")}, {"model is", row.Models.String()},
		{"check is", strings.Join(row.Checks, " or ")}, {"host is", hostWords[row.Host]},
	} {
		if p.value != "" {
			parts = append(parts, p.name+" "+p.value)
		}
	}
	return strings.TrimSpace(strings.Join(parts, ", ") + datesText(row.Since, row.Until))
}

var hostWords = map[string]string{
	specs.OwnHost: "the provider's own", specs.OtherHost: "another one that speaks its format",
}

func datesText(since, until string) (text string) {
	if since != "" {
		text += " from " + since + " on"
	}
	if until != "" {
		text += " until " + until
	}
	return text
}

// writeExample writes a conversation as it stands on the wire.
func writeExample(w io.Writer, title string, e specs.Example) {
	fmt.Fprintf(w, "\n%s\n", title)
	if e.Note != "" {
		fmt.Fprintln(w, indentLines(wrapWords(e.Note)))
	}
	for i, x := range e.Exchanges {
		fmt.Fprintf(w, "  %d  → %s\n", i, exampleBody(x.Request))
		if reply := exampleBody(x.Reply); reply != "" {
			fmt.Fprintf(w, "     ← %s\n", reply)
		}
	}
	for i, p := range e.Processes {
		fmt.Fprintf(w, "  process %d: %s, exit %d\n", i, strings.Join(p.Args, " "), p.Exit)
	}
}

func exampleBody(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n       ")
}

func sourceText(s specs.Source) string {
	text := cmp.Or(s.URL, s.Doc)
	if s.Section != "" {
		text += ", " + s.Section
	}
	if s.Retrieved != "" {
		text += " (of " + s.Retrieved + ")"
	}
	if s.Unverified {
		text = strings.TrimSpace(text + " (unverified: " + s.Reason + ")")
	}
	return text
}

// appliesText says which evidence a requirement speaks of.
func appliesText(a specs.Applies) string {
	return fmt.Sprintf("for %s on evidence from %s", joinNames(a.Provider, "every provider"), joinNames(a.Source, "every source"))
}

// joinNames returns all for no name.
func joinNames(names []string, all string) string {
	if len(names) == 0 {
		return all
	}
	return strings.Join(names, ", ")
}
