package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Root returns the root command of the program: version, help with the exit
// codes, usage errors, the flags -q and -v, and the completion command. Add the
// program's commands to it.
func (f *Frame) Root() *cobra.Command {
	root := Group(f.Program.Name, f.Program.Short, strings.TrimRight(f.Program.Long, "\n")+"\n\n"+exitCodeHelp(f.Program.Name))
	root.Version = Version()
	root.SilenceUsage, root.SilenceErrors = true, true
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return f.prepareCommand(cmd) }
	root.SetVersionTemplate(f.Program.Name + " {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	flags := root.PersistentFlags()
	flags.BoolVarP(&f.Quiet, "quiet", "q", false, "say nothing on stderr but errors")
	flags.BoolVarP(&f.Verbose, "verbose", "v", false, "log on stderr what happens")
	flags.BoolVar(&f.Raw, "raw", false, "print text of others as it is, also what controls the terminal")
	if f.Program.Settings != nil {
		f.Program.Settings.addConfigFlag(root)
	}
	root.InitDefaultVersionFlag()
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		addCompletionExamples(completion, f.Program.Name)
	}
	return root
}

// prepareCommand fills the flags of a command from its settings and calls the program's
// own hook. The commands that cobra adds need neither.
func (f *Frame) prepareCommand(cmd *cobra.Command) error {
	for c := cmd; c != nil; c = c.Parent() {
		if c.Name() == "completion" || c.Name() == "help" || strings.HasPrefix(c.Name(), "__complete") {
			return nil
		}
	}
	if f.Program.Settings != nil {
		if err := f.applySettings(cmd); err != nil {
			return err
		}
	}
	if f.Program.Prepare != nil {
		return f.Program.Prepare(cmd)
	}
	return nil
}

func addCompletionExamples(completion *cobra.Command, program string) {
	for _, shell := range completion.Commands() {
		shell.Example = "  " + program + " completion " + shell.Name()
	}
}

// Group returns a command that only holds others. It prints its help without
// arguments and refuses a command that it does not have.
func Group(name, short, long string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Long: long,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
}

// unknownCommand names the command that was probably meant, or all there are.
func unknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden && c.Name() != "help" && c.Name() != "completion" {
			names = append(names, c.Name())
		}
	}
	if meant := nearest(name, names); meant != "" {
		return Usage("%s: unknown command; did you mean %s? run: %s --help", name, meant, cmd.CommandPath())
	}
	return Usage("%s: unknown command; one of %s", name, strings.Join(names, ", "))
}

// flagError makes a usage error of what pflag says, with the flag that was
// probably meant.
func flagError(cmd *cobra.Command, err error) error {
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden {
				names = append(names, flag.Name)
			}
		})
		if meant := nearest(unknown.GetSpecifiedName(), names); meant != "" {
			return Usage("%s: %w; did you mean --%s? run: %s --help", cmd.Name(), err, meant, cmd.CommandPath())
		}
	}
	return Usage("%s: %w; run: %s --help", cmd.Name(), err, cmd.CommandPath())
}

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usage("%s: unexpected; %s takes flags only", args[0], cmd.Name())
	}
	return nil
}

// Args refuses fewer or more arguments than least to most; most -1 is any number.
// want says what they are, for the error.
func Args(least, most int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return Usage("%s: want %s; run: %s --help", cmd.Name(), want, cmd.CommandPath())
		}
		return nil
	}
}

// AddJSONFlag adds --json, which has one meaning everywhere: the result goes to
// stdout as JSON.
func AddJSONFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print the result as JSON")
	CommandLineOnly(cmd.Flags(), "json")
}

// nearest returns the name that a misspelt one probably means, "" when it is far
// from all. Two letters may be wrong, one in a name of fewer than six.
func nearest(name string, known []string) (best string) {
	least := 3
	if len(name) < 6 {
		least = 2
	}
	for _, k := range slices.Sorted(slices.Values(known)) {
		if d := editDistance(name, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// editDistance is the number of letters that have to be inserted, deleted,
// replaced or swapped with their neighbour to turn a into b (optimal string
// alignment).
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j-1], rows[i-1][j], rows[i][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
