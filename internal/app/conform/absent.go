package conform

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
)

// Some commands and flags are planned and do not exist yet. They are refused by
// name, so that a flag that is silently ignored is not taken for a verdict.

// missingCommands returns a hidden command for each command that is planned.
func missingCommands() (list []*cobra.Command) {
	instead := map[string]string{
		"diff":   "compare the JSON reports with a tool of your own",
		"verify": "run the suites again and compare the set's digest",
	}
	for name, advice := range instead {
		list = append(list, &cobra.Command{
			Use: name, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error { return missingError(name, advice) },
		})
	}
	return list
}

func missingError(object, advice string) error {
	return cli.Usage("%s: not in this build; %s", object, advice)
}

// missingFlag is a planned flag. Setting it is an error.
type missingFlag struct{ advice string }

func (missingFlag) String() string { return "" }
func (missingFlag) Type() string   { return "string" }

// Set refuses any value. The flag library prefixes the name of the flag.
func (f missingFlag) Set(string) error { return fmt.Errorf("not in this build; %s", f.advice) }

// refuseFlags declares planned flags, each with what to do instead.
func refuseFlags(cmd *cobra.Command, advice map[string]string) {
	for name, text := range advice {
		cmd.Flags().Var(missingFlag{text}, name, "")
		if err := cmd.Flags().MarkHidden(name); err != nil {
			panic(err) // the flag was added one line above
		}
	}
}
