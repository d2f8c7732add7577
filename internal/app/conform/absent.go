package conform

import (
	"fmt"

	"github.com/spf13/cobra"
)

// The command contract (DESIGN §6) is larger than this build. What it lacks is
// refused by name, so that nobody takes a silently ignored flag for a verdict.

func absentCommands() []*cobra.Command {
	instead := map[string]string{
		"diff":    "compare the JSON reports with a tool of your own",
		"matrix":  "run each subject and keep its JSON report",
		"init":    "the only subject is rkat, which needs no profile",
		"observe": "record with recorder and judge the cassette with conform check",
		"verify":  "run the suites again and compare the set's digest",
	}
	var list []*cobra.Command
	for name, advice := range instead {
		list = append(list, &cobra.Command{
			Use: name, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error { return lacks(name, advice) },
		})
	}
	return list
}

func lacks(object, advice string) error {
	return usage("%s: not in this build; %s", object, advice)
}

// absent is a flag of the contract that this build lacks. Setting it is an
// error at once.
type absent struct{ advice string }

func (absent) String() string { return "" }
func (absent) Type() string   { return "string" }

// Set refuses any value. The flag library prefixes the flag's name.
func (f absent) Set(string) error { return fmt.Errorf("not in this build; %s", f.advice) }

func refuseFlags(cmd *cobra.Command, advice map[string]string) {
	for name, text := range advice {
		cmd.Flags().Var(absent{text}, name, "")
		if err := cmd.Flags().MarkHidden(name); err != nil {
			panic(err) // the flag was added one line above
		}
	}
}
