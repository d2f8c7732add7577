package conform

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/isolate"
)

// isolationFlags say what the agent may reach, and what happens when it tries more.
type isolationFlags struct {
	isolation   string
	failOnStray bool
}

func (f *isolationFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.isolation, "isolation", string(isolate.Auto), "keep the agent away from all but our proxy: auto (where the system allows it), require or off")
	cmd.Flags().BoolVar(&f.failOnStray, "fail-on-stray", false, "exit 5 when the agent tries to reach a host that is not a provider's")
}

// detectLevel finds out how far the agent can be kept apart. An agent inside this process
// cannot.
func (f isolationFlags) detectLevel(ctx context.Context, subject report.Subject) (isolate.Level, error) {
	if err := checkValues("isolation", f.isolation); err != nil {
		return isolate.Level{}, err
	}
	mode := isolate.Mode(f.isolation)
	if subject.Kind == inProcess {
		if mode == isolate.Require {
			return isolate.Level{}, cli.Usage("--isolation require: %s runs inside this process; leave the flag out", subject.Name)
		}
		return isolate.Level{}, nil
	}
	level, err := isolate.Detect(ctx, mode)
	if err != nil {
		return level, cli.Usage("--isolation require: %w", err)
	}
	return level, nil
}

// inProcess is the kind of an agent that runs inside this process.
const inProcess = "in-process"

// isolationOf is what a report says about the level.
func isolationOf(subject report.Subject, level isolate.Level) *report.Isolation {
	if subject.Kind == inProcess {
		return nil
	}
	return &report.Isolation{Enforced: level.Enforced, Reason: level.Reason}
}

// strayGuard returns why --fail-on-stray ends the run with an error, "" when it does
// not.
func (f isolationFlags) strayGuard(cases []report.JournalEntry) string {
	var hosts []report.Host
	for _, c := range cases {
		hosts = report.AddHosts(hosts, c.Hosts...)
	}
	if !f.failOnStray || len(hosts) == 0 {
		return ""
	}
	return fmt.Sprintf("the agent tried to reach %s, which is not a provider's host (--fail-on-stray)", hosts[0].Name)
}
