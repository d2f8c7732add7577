package conform

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/specs"
)

// writeEntry explains one id to people.
func writeEntry(w io.Writer, e *entry) {
	citedBy := e.CitedBy
	if e.requirement != nil {
		r := *e.requirement
		fmt.Fprintf(w, "%s  %s\n%s, %s, added %s, for %s on evidence from %s\n", r.ID, r.Title, r.Consequence,
			r.Status, r.Added,
			joinNames(r.Applies.Provider, "every provider"), joinNames(r.Applies.Source, "every source"))
		writeSection(w, "", wrapWords(r.Text))
		if r.JudgesSource() {
			writeSection(w, "judges", "the source of the replies, not the agent")
		}
		lines := []string{fmt.Sprintf("%s%s: %s", r.Consequence, datesText(r.Since, r.Until), r.Consequence.Meaning())}
		for _, row := range r.Where {
			lines = append(lines, fmt.Sprintf("%s where %s", row.Consequence, whereText(row)))
		}
		writeSection(w, "consequence", strings.Join(lines, "\n"))
		writeSection(w, "why", wrapWords(r.Why))
		writeSection(w, "fix", fixesText(r))
		if !r.Examples.IsZero() {
			writeExample(w, "a failing example", r.Examples.Failing)
			writeExample(w, "a passing example", r.Examples.Passing)
		}
		writeSection(w, "checks", strings.Join(r.Checks, ", "))
		writeSection(w, "mutants they must catch", strings.Join(r.Mutants, ", "))
		fmt.Fprint(w, "\nsources\n")
		for _, s := range r.Sources {
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
			fmt.Fprintf(w, "  %s\n", text)
		}
		// The requirement lists its checks and mutants itself.
		citedBy = slices.DeleteFunc(slices.Clone(citedBy),
			func(c citedID) bool { return c.Kind == kindCheck || c.Kind == kindMutant })
	} else {
		fmt.Fprintf(w, "%s  %s\n%s", e.ID, e.Title, e.Kind)
		if len(e.Aliases) > 0 {
			fmt.Fprintf(w, ", also called %s", strings.Join(e.Aliases, ", "))
		}
		if e.Origin != "" {
			fmt.Fprintf(w, "\nfrom %s", e.Origin)
		}
		fmt.Fprintln(w)
	}
	for _, p := range e.Sections {
		writeSection(w, p.Heading, p.Text)
	}
	writeCitations(w, "cites", e.Cites)
	writeCitations(w, "cited by", citedBy)
}

func writeCitations(w io.Writer, title string, list []citedID) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for _, c := range list {
		title, _, _ := strings.Cut(c.Title, ";") // the rest is in its own explanation
		fmt.Fprintf(w, "  %s (%s): %s\n", c.ID, c.Kind, title)
	}
}

// writeSection writes a heading and a text. It wraps a text of one line; several
// lines stay as they are.
func writeSection(w io.Writer, title, text string) {
	fmt.Fprintln(w)
	if title != "" {
		fmt.Fprintln(w, title)
	}
	if text = strings.TrimSpace(text); !strings.Contains(text, "\n") {
		text = wrapWords(text)
	}
	fmt.Fprintln(w, indentLines(text))
}

func indentLines(text string) string {
	indented := "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
	return strings.ReplaceAll(indented, "\n  \n", "\n\n")
}

// textWidth is the length of a line of an explanation, without its indent.
const textWidth = 76

// wrapWords breaks text at spaces into lines of at most textWidth, where words
// allow.
func wrapWords(text string) string { return strings.Join(cli.WrapWords(text, textWidth), "\n") }

// listing is the output of conform list --json, schema conform.list.v2.
type listing struct {
	Schema       string              `json:"schema"`
	Requirements []specs.Requirement `json:"requirements"`
}

func (a *app) listCommand() *cobra.Command {
	asJSON := false
	var filter, set string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the requirements",
		Long: `List the requirements, or those that a filter selects: what a breach leads to, the day of the
latest public source or that there is none, and where a breach leads to something else.
--json prints ` + report.ListSchema + `, with sources and examples.`,
		Example: `  conform list
  conform list --filter 'SIG && refused && !gemini'
  conform list --set 2026-12`,
		Args: noArgument("list: takes no argument; to see one requirement run: conform explain %s"),
		RunE: func(*cobra.Command, []string) error {
			selected, err := selectRequirements(set, filter)
			if err != nil {
				return err
			}
			if asJSON {
				return report.WriteJSON(a.JSON(), listing{report.ListSchema, selected})
			}
			t := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "ID\tCONSEQUENCE\tSTATUS\tPROVIDER\tSOURCE OF\tTITLE\tEXCEPT")
			for _, r := range selected {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, r.Consequence, r.Status,
					joinNames(r.Applies.Provider, "all"), sourceDay(r), r.Title, exceptionsText(r))
			}
			return t.Flush()
		},
	}
	cli.AddJSONFlag(cmd, &asJSON)
	cmd.Flags().StringVar(&filter, "filter", "", filterHelp)
	cmd.Flags().StringVar(&set, "set", "",
		"only the requirements of a set: "+strings.Join(specs.SetNames(), ", or one frozen in a month, "))
	return cmd
}

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

// fixesText says how to mend a breach, and where another fix fits.
func fixesText(r specs.Requirement) string {
	text := wrapWords(r.Fix)
	for _, row := range r.Fixes {
		parts, says := []string(nil), ""
		if row.Says != "" {
			says = `"` + row.Says + `"`
		}
		for _, p := range []struct{ name, value string }{
			{"the check is", strings.Join(row.Checks, " or ")}, {"the rule is", strings.Join(row.Rules, " or ")},
			{"the finding says", says},
		} {
			if p.value != "" {
				parts = append(parts, p.name+" "+p.value)
			}
		}
		text += "\n" + wrapWords("where "+strings.Join(parts, ", ")+": "+row.Fix)
	}
	return text
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

// joinNames returns all for no name.
func joinNames(names []string, all string) string {
	if len(names) == 0 {
		return all
	}
	return strings.Join(names, ", ")
}
