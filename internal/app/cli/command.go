package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/internal/spelling"
)

// Root returns the root command of the program: version, help with the exit
// codes, usage errors, the flags -q and -v, and the completion command. Add the
// program's commands to it.
func (f *Frame) Root() *cobra.Command {
	root := Group(
		f.Program.Name, f.Program.Short, strings.TrimRight(f.Program.Long, "\n")+"\n\n"+exitCodeHelp(f.Program.Name),
	)
	root.SilenceUsage, root.SilenceErrors = true, true
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return f.prepareCommand(cmd) }
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(writeUsage)
	flags := root.PersistentFlags()
	flags.BoolVarP(&f.Quiet, "quiet", "q", false, "say nothing on stderr but errors")
	flags.BoolVarP(&f.Verbose, "verbose", "v", false, "log on stderr what happens")
	flags.BoolVar(&f.Raw, "raw", false, "print text of others as it is, also what controls the terminal")
	if f.Program.Settings != nil {
		f.Program.Settings.addConfigFlag(root)
	}
	addVersionFlag(root)
	root.AddCommand(f.versionCommand())
	return root
}

// addVersionFlag adds --version. Cobra's own one has a template, and a program that executes
// templates keeps every exported method of all its types.
func addVersionFlag(root *cobra.Command) {
	shown := root.Flags().Bool("version", false, "version for "+root.Name())
	help := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if !*shown {
			return help(cmd, args)
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), root.Name(), Version())
		return err //nolint:wrapcheck // of stdout
	}
}

// prepareCommand fills the flags of a command from its settings and calls the program's
// own hook. The commands that cobra adds need neither.
func (f *Frame) prepareCommand(cmd *cobra.Command) error {
	if cmd.Flags().Changed("version") {
		return nil
	}
	for c := cmd; c != nil; c = c.Parent() {
		if c.Name() == "completion" || c.Name() == "help" || c.Name() == "version" ||
			strings.HasPrefix(c.Name(), "__complete") {
			return nil
		}
	}
	if err := checkValuesGiven(cmd); err != nil {
		return err
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

// checkValuesGiven refuses a flag without its value in front of --, which would be its value and
// with --cassette the name of a file.
func checkValuesGiven(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if value := flag.Value.String(); err == nil && (value == "--" || value == "[--]") {
			err = Usage("--%s: its value is missing: -- is behind it; run: %s --help", flag.Name, cmd.CommandPath())
		}
	})
	return err
}

// addCompletion adds cobra's completion command, which needs the other commands and
// stdout, with examples and with the refusal of a shell that it does not know.
func addCompletion(root *cobra.Command, program string) {
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	if err != nil || completion == root {
		return
	}
	completion.Args = SubCommand
	completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	for _, shell := range completion.Commands() {
		shell.Example = "  " + program + " completion " + shell.Name()
	}
}

// Group returns a command that only holds others. It prints its help without
// arguments and refuses a command that it does not have.
func Group(name, short, long string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Long: long,
		Args: SubCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
}

// SubCommand refuses arguments of a command that only holds others: they are commands
// that it does not have.
func SubCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownCommand(cmd, args[0])
}

// unknownCommand names the command that was probably meant, or all there are.
func unknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden && c.Name() != "help" && c.Name() != "completion" {
			names = append(names, c.Name())
		}
	}
	if meant := spelling.Nearest(name, names); meant != "" {
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
		if meant := spelling.Nearest(unknown.GetSpecifiedName(), names); meant != "" {
			return Usage("%s: %w; did you mean --%s? run: %s --help", cmd.Name(), err, meant, cmd.CommandPath())
		}
	}
	invalid, number := (*pflag.InvalidValueError)(nil), (*strconv.NumError)(nil)
	if errors.As(err, &invalid) && errors.As(err, &number) {
		why := "not a number"
		switch {
		case number.Func == "ParseBool":
			why = "neither true nor false"
		case errors.Is(number, strconv.ErrRange):
			why = "too large"
		}
		return Usage(
			"%s: --%s=%s: %s; run: %s --help", cmd.Name(), invalid.GetFlag().Name, invalid.GetValue(), why,
			cmd.CommandPath(),
		)
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
