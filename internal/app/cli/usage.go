package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/internal/terminal"
)

// helpWidth is the longest line of a help text.
const helpWidth = 100

// FlagGroup is a title of a help text with the names of the flags below it.
type FlagGroup struct {
	Title string
	Flags []string
}

const flagGroup = "cli_group"

// GroupFlags shows the flags of a command in groups, in their order; others follow them.
func GroupFlags(cmd *cobra.Command, groups []FlagGroup) {
	for i, g := range groups {
		for _, name := range g.Flags {
			if flag := cmd.Flags().Lookup(name); flag != nil {
				// the flag is there
				_ = cmd.Flags().SetAnnotation(name, flagGroup, []string{fmt.Sprintf("%02d%s", i, g.Title)})
			}
		}
	}
}

// writeUsage prints how a command is called: cobra's own text, with flags in groups and lines that
// fit.
func writeUsage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nAvailable Commands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				fmt.Fprintf(&b, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
			}
		}
	}
	sets := map[string]*pflag.FlagSet{}
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		title := "99Flags"
		if group := flag.Annotations[flagGroup]; group != nil {
			title = group[0]
		}
		if sets[title] == nil {
			sets[title] = pflag.NewFlagSet("", pflag.ContinueOnError)
		}
		sets[title].AddFlag(flag)
	})
	var titles []string
	for title, set := range sets {
		if set.HasAvailableFlags() {
			titles = append(titles, title)
		}
	}
	slices.Sort(titles)
	for i, title := range titles {
		if title = title[2:]; title == "Flags" && i > 0 {
			title = "Other flags"
		}
		fmt.Fprintf(&b, "\n%s:\n%s", title, sets[titles[i]].FlagUsagesWrapped(helpWidth))
	}
	if cmd.HasAvailableInheritedFlags() {
		fmt.Fprintf(&b, "\nGlobal Flags:\n%s", cmd.InheritedFlags().FlagUsagesWrapped(helpWidth))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse %q for more information about a command.\n", cmd.CommandPath()+" [command] --help")
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(
			cmd.OutOrStderr(), terminal.Wrap(strings.TrimRight(line, "\n"), helpWidth, "      "),
		); err != nil {
			return err //nolint:wrapcheck // of stdout
		}
	}
	return nil
}
