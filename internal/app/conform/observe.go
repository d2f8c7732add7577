package conform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/conform/subject"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/profiles"
	"github.com/meerkat-go/conformance/proxy"
)

// observeFlags are those of the commands that watch one prompt.
type observeFlags struct {
	commandFlags
	isolationFlags
	subject string // a profile
	ingress []string
	timeout time.Duration
}

func (f *observeFlags) addTo(cmd *cobra.Command) {
	f.commandFlags.addTo(cmd)
	f.isolationFlags.addTo(cmd)
	cmd.Flags().StringSliceVar(&f.ingress, "ingress", []string{proxy.MITM, proxy.BaseURL},
		"ways in to try: mitm, base-url")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 90*time.Second, "how long the agent may take to answer")
}

func (a *app) observeCommand() *cobra.Command {
	var f observeFlags
	asJSON := false
	cmd := &cobra.Command{
		Use:   "observe [-- CMD {prompt}]",
		Short: "Explain what an agent sends for one prompt",
		Long: `Give an agent one prompt, through the intercepting proxy and by base URL, and explain
what was seen: providers, models, endpoints, tools, side traffic, other hosts, whether it
trusts the certificate, which files it writes. The simulator answers, without a script.

Exits 3 when no call of a model was seen. --json prints ` + subject.ObserveSchema + `.`,
		Example: `  conform observe -- my-agent --print {prompt}
  conform observe --workdir . --timeout 5m -- go run ./cmd/agent {prompt}
  conform observe --subject my-agent.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			seen, _, err := a.observe(cmd.Context(), cmd, f, args)
			if err != nil {
				return err
			}
			if asJSON {
				err = report.WriteJSON(a.JSON(), seen)
			} else {
				a.Print("%s", seen.Text())
			}
			if _, failed := seen.Learn(&profiles.Profile{}); err == nil && failed != nil {
				return cli.Exit(report.ExitIncomplete)
			}
			return err
		},
	}
	f.addTo(cmd)
	cmd.Flags().StringVar(&f.subject, "subject", "",
		"the name of a profile or a `PROFILE.yaml`, instead of a command behind --")
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

func (a *app) initCommand() *cobra.Command {
	var f observeFlags
	output, asJSON := "", false
	cmd := &cobra.Command{
		Use:   "init -- CMD {prompt}",
		Short: "Write a profile of an agent from one prompt",
		Long: `Give an agent one prompt, through the intercepting proxy and by base URL, and write a
profile with what was learned. Comments say what one prompt cannot show.

Exits 3 when no call of a model was seen; nothing is written then. --json prints
conform.init.v1, which holds the profile and names its file.`,
		Example: "  conform init --output my-agent.yaml -- my-agent --print {prompt}",
		RunE: func(cmd *cobra.Command, args []string) error {
			seen, profile, err := a.observe(cmd.Context(), cmd, f, args)
			if err != nil {
				return err
			}
			text, err := subject.WriteProfile(profile, seen)
			if err != nil {
				return cli.Fail(report.ExitIncomplete, "%w", err)
			}
			if output == "" && !asJSON {
				a.Print("%s", text)
				return nil
			}
			if output != "" {
				err = fileutil.WriteFile(output, []byte(text), 0o600)
			}
			if err != nil {
				return fmt.Errorf("%s: the profile cannot be written: %w", output, fileutil.Reason(err))
			}
			if asJSON {
				return report.WriteJSON(a.JSON(), initialized{"conform.init.v1", profile.Name, output, string(text)})
			}
			hint := ""
			if f.workdir != "" {
				hint = " --workdir " + f.workdir
			}
			a.Note("%s: written; run: conform run --subject %s%s", output, output, hint)
			return nil
		},
	}
	f.addTo(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the profile to `FILE` instead of stdout")
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

// initialized is the document conform.init.v1.
type initialized struct {
	Schema  string `json:"schema"`
	Name    string `json:"name"`
	File    string `json:"file,omitempty"` // to which the profile was written
	Profile string `json:"profile"`        // its YAML
}

// observe watches one prompt.
func (a *app) observe(ctx context.Context, cmd *cobra.Command, f observeFlags, args []string) (*subject.Observation,
	*profiles.Profile, error) {
	if err := f.takeArguments(cmd, args); err != nil {
		return nil, nil, err
	}
	if f.timeout <= 0 {
		return nil, nil, cli.Usage("--timeout: %s is not a time; use for example 90s", f.timeout)
	}
	if len(f.command) == 0 && f.subject == "" {
		return nil, nil, cli.Usage("%s: names no agent; write: conform %s -- my-agent {prompt}", cmd.Name(), cmd.Name())
	}
	if err := checkValues("ingress", f.ingress...); err != nil {
		return nil, nil, err
	}
	named := subjectFlags{name: cmp.Or(f.subject, rkatSubject), commandFlags: f.commandFlags}
	profile, err := named.chosenProfile()
	if err != nil {
		return nil, nil, err
	}
	if profile == nil || profile.Run == nil {
		return nil, nil,
			cli.Usage("--subject %s: is not a command; give a profile with run, or a command behind --", f.subject)
	}
	if profile.Ingress != nil && !cmd.Flags().Changed("ingress") {
		f.ingress = profile.Ingress
	}
	checks := subject.Checks{
		Config: harness.Config{
			Path: searchPath(a.Getenv("PATH")), CaseTimeout: f.timeout, WorkDir: f.workdir, InPlace: f.inPlace,
		},
		Ingress: f.ingress, FindProvider: len(f.command) > 0 && f.providers == nil,
	}
	if checks.Isolation, err = f.detectLevel(ctx, report.Subject{Name: profile.Name, Kind: "command"}); err != nil {
		return nil, nil, err
	}
	seen, err := subject.Observe(ctx, profile, checks)
	guard := (*harness.GuardError)(nil)
	switch {
	case errors.Is(err, subject.ErrNoProgram):
		err = cli.Usage("%w", err)
	case errors.As(err, &guard):
		err = cli.Fail(report.ExitGuard, "%w", err)
	case ctx.Err() != nil:
		err = cli.Fail(report.ExitInterrupted, "interrupted before the prompt was answered; run it again")
	}
	return seen, profile, err
}
