package conform

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

func (a *app) explainCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain ID",
		Short: "one requirement: text, reason, sources, checks, how to mend a breach",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("explain: takes one requirement id; run: conform list")
			}
			r, err := specs.FindRequirement(args[0])
			switch {
			case err != nil:
				return usage("%w", err)
			case asJSON:
				return report.WriteJSON(a.stdout, r)
			}
			explain(a.stdout, r)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the requirement as JSON to stdout")
	return cmd
}

func explain(w io.Writer, r specs.Requirement) {
	fmt.Fprintf(w, "%s  %s\n%s, %s, since %s, %s\n", r.ID, r.Title, r.Level, r.Status, r.Since, scope(r.Applies))
	section(w, "", r.Text)
	section(w, "why", r.Why)
	section(w, "fix", r.Fix)
	if r.Breach != "" {
		fmt.Fprintf(w, "\nbreach\n%s\n", indent(r.Breach))
	}
	section(w, "checks", strings.Join(r.Checks, ", "))
	section(w, "mutants they must catch", strings.Join(r.Mutants, ", "))
	fmt.Fprint(w, "\nsources\n")
	for _, s := range r.Sources {
		fmt.Fprintf(w, "  %s\n", citation(s))
	}
}

func section(w io.Writer, title, text string) {
	fmt.Fprintln(w)
	if title != "" {
		fmt.Fprintln(w, title)
	}
	fmt.Fprintln(w, indent(wrap(text, 76)))
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// wrap breaks text at spaces into lines of at most width, where words allow.
func wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

func citation(s specs.Source) string {
	text := cmp.Or(s.URL, s.Doc)
	if s.Section != "" {
		text += ", " + s.Section
	}
	if s.Retrieved != "" {
		text += " (read " + s.Retrieved + ")"
	}
	return text
}

// scope says what a requirement speaks of.
func scope(a specs.Applies) string {
	return fmt.Sprintf("for %s on evidence from %s", list(a.Provider, "every provider"), list(a.Source, "every source"))
}

func list(names []string, all string) string {
	if len(names) == 0 {
		return all
	}
	return strings.Join(names, ", ")
}

// listing is the output of conform list --json, schema conform.list.v1.
type listing struct {
	Schema       string              `json:"schema"`
	Requirements []specs.Requirement `json:"requirements"`
}

func (a *app) listCommand() *cobra.Command {
	var asJSON bool
	var filter string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "the requirements",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("list: takes no argument; to see one requirement run: conform explain %s", args[0])
			}
			chosen, err := choose(filter)
			if err != nil {
				return err
			}
			if asJSON {
				return report.WriteJSON(a.stdout, listing{report.ListSchema, chosen})
			}
			return table(a.stdout, chosen)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write "+report.ListSchema+" to stdout")
	cmd.Flags().StringVar(&filter, "filter", "", filterHelp)
	return cmd
}

func table(w io.Writer, all []specs.Requirement) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tLEVEL\tSTATUS\tPROVIDER\tTITLE")
	for _, r := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", r.ID, r.Level, r.Status, list(r.Applies.Provider, "all"), r.Title)
	}
	return t.Flush()
}
