package conform

import (
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
