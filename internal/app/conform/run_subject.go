package conform

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/rkat"
)

// subjectFlags say which agent is judged.
type subjectFlags struct {
	name    string
	command []string // the agent's command line, behind two dashes
}

func (f *subjectFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "subject", "rkat", "agent under test: rkat")
}

// subject returns the agent that the flags name.
func (a *app) subject(f subjectFlags) (harness.Subject, error) {
	switch {
	case len(f.command) > 0:
		return nil, cli.Usage("run: takes no argument, got %q; name the agent with --subject", f.command[0])
	case f.name == "rkat":
		return harness.InProcess(rkat.Run, cli.Version()), nil
	case strings.HasSuffix(f.name, ".yaml"):
		return nil, missingError("--subject "+f.name, "use --subject rkat")
	}
	return nil, cli.Usage("--subject: unknown value %q; use rkat", f.name)
}
