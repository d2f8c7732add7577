package conform

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/conform/subject"
	"github.com/meerkat-go/conformance/conform/subject/acp"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/rkat"
	"github.com/meerkat-go/conformance/profiles"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/wires"
)

// subjectFlags say which agent is judged.
type subjectFlags struct {
	name string
	commandFlags
	permissions string // of the Agent Client Protocol
}

// commandFlags describe an agent without a profile.
type commandFlags struct {
	command        []string // behind two dashes
	stdin          bool
	resume         string
	sessionPattern string
	mcp            string
	env            []string
	providers      []string
	workdirFlags
}

// rkatSubject is the name of the agent that is a part of this program.
const rkatSubject = "rkat"

func (f *subjectFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "subject", rkatSubject,
		"agent under test: rkat, the name of a profile, a `PROFILE.yaml`, acp:CMD for one that speaks the Agent Client Protocol, or driver:CMD for a loop of a library")
	f.commandFlags.addTo(cmd)
	cmd.Flags().StringVar(&f.permissions, "acp-permissions", "allow",
		"what an agent of the Agent Client Protocol is answered when it asks for permission: allow or reject")
}

func (f *commandFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.stdin, "stdin", false, "the agent behind -- reads its prompt from standard input")
	flags.StringVar(&f.resume, "resume-cmd", "",
		"how the agent behind -- continues a session in a new process: 'my-agent --resume {session} {prompt}'")
	flags.StringVar(&f.sessionPattern, "session-pattern", "",
		"regular expression that finds {session} in the agent's output")
	flags.StringVar(&f.mcp, "mcp-flag", "", "how the agent behind -- is offered tools: '--mcp-config {mcp_config}'")
	flags.StringArrayVar(&f.env, "env", nil, "variable for the agent behind --: `NAME=VALUE`")
	f.workdirFlags.addTo(flags)
	flags.StringSliceVar(&f.providers, "provider", nil,
		"run no other providers than these: "+strings.Join(wires.Names(), ", ")+
			" (default: all that the agent has; for one behind --, what a first prompt shows)")
}

// takeArguments takes the command behind --. Other arguments are mistakes.
func (f *commandFlags) takeArguments(cmd *cobra.Command, args []string) error {
	if flag := emptyFlag(cmd); flag != "" {
		return cli.Usage("--%s: is empty; give it a value, or leave it out", flag)
	}
	if at := cmd.ArgsLenAtDash(); len(args) > 0 && at != 0 {
		if serve := cmd.Flags().Lookup("serve"); serve != nil && serve.Changed && strings.Contains(args[0], ":") {
			return cli.Usage("--serve: takes its address behind =; write --serve=%s", args[0])
		}
		return cli.Usage("%s: takes no argument, got %q; put the agent's command behind --, or name a profile with --subject", cmd.Name(), args[0])
	} else if at == 0 && len(args) == 0 {
		return cli.Usage("%s: no command behind --; write for example: -- my-agent {prompt}", cmd.Name())
	}
	f.command = args
	return f.resolveFolder()
}

// emptyFlag names a flag of the command line without a value, as a variable leaves one that
// is not set; "" for none. An empty filter selects everything.
func emptyFlag(cmd *cobra.Command) (name string) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if value := flag.Value.String(); name == "" && (value == "" || value == "[]") && flag.Name != "filter" {
			name = flag.Name
		}
	})
	return name
}

// setFlag names a flag that describes a command and is set, "" when none is.
func (f *commandFlags) setFlag() string {
	for _, flag := range []struct {
		name  string
		isSet bool
	}{
		{"--stdin", f.stdin}, {"--resume-cmd", f.resume != ""}, {"--session-pattern", f.sessionPattern != ""},
		{"--mcp-flag", f.mcp != ""}, {"--env", len(f.env) > 0},
	} {
		if flag.isSet {
			return flag.name
		}
	}
	return ""
}

// adHocProfile is that of the command behind --.
func (f *commandFlags) adHocProfile() (*profiles.Profile, error) {
	p, err := subject.AdHoc(subject.CommandLine{
		Run: f.command, Stdin: f.stdin, Resume: f.resume, SessionPattern: f.sessionPattern, MCP: f.mcp, Env: f.env,
		Providers: f.providers, WorkDir: f.workdir,
	})
	return p, asUsage(err)
}

// waysIn are those that are run where no flag says it: the first that works.
func waysIn(agent harness.Subject) []string {
	known := agent.About().Ingress
	for _, way := range allWays {
		if subject.ComesInBy(agent, way) && (known == nil || slices.Contains(known, way)) {
			return []string{way}
		}
	}
	return allWays[:1]
}

// allWays are the ways in, the one that leaves the provider's own address first.
var allWays = []string{proxy.MITM, proxy.BaseURL}

// findSubject returns the agent that the flags name. One that is a program is asked one
// prompt first; if that does not arrive, the agent runs no case and says why. With a
// [*harness.GuardError], or when ctx has ended, the agent may be returned beside the error.
func (a *app) findSubject(ctx context.Context, f runFlags) (harness.Subject, error) {
	if kind, argv, err := splitConversation(f.name); kind != "" {
		if err != nil {
			return nil, err
		}
		p, err := subject.ForProtocol(filepath.Base(argv[0]), f.env, f.providers)
		if err != nil {
			return nil, cli.Usage("%w", err)
		}
		agent, err := f.startAgent(ctx, kind, argv, p, f.providers)
		if err != nil {
			return nil, err
		}
		return narrowAgent(agent, f.providers)
	}
	profile, err := f.chosenProfile()
	if err != nil {
		return nil, err
	}
	if profile == nil {
		return narrowAgent(harness.InProcess(rkat.Run, cli.Version(), acp.InProcess), f.providers)
	}
	kind, _ := profile.Command()
	if kind != "command" {
		return f.conversationOf(ctx, profile)
	}
	return a.commandSubject(ctx, f, profile)
}

// narrowAgent keeps an agent to the providers of --provider.
func narrowAgent(agent harness.Subject, providers []string) (harness.Subject, error) {
	narrow, err := subject.NarrowAgent(agent, providers)
	return narrow, asUsage(err)
}

// commandSubject is the agent of a profile that is a program for each prompt.
func (a *app) commandSubject(ctx context.Context, f runFlags, profile *profiles.Profile) (harness.Subject, error) {
	checks := subject.Checks{Config: harness.Config{Path: searchPath(a.Getenv("PATH")), CaseTimeout: f.caseTimeout,
		RefuseWebSockets: f.webSocket == webSocketRefuse, WorkDir: f.workdir, InPlace: f.inPlace}, Ingress: f.ingress,
		FindProvider: len(f.command) > 0 && f.providers == nil}
	if f.ingress == nil {
		checks.Ingress, checks.FirstIngress = allWays, true
	}
	var err error
	if checks.Isolation, err = f.detectLevel(ctx, report.Subject{Name: profile.Name, Kind: "command"}); err != nil {
		return nil, err
	}
	agent, problem, err := subject.Preflight(ctx, profile, checks)
	switch {
	case errors.Is(err, subject.ErrNoProgram):
		return nil, cli.Usage("%w", err)
	case err != nil:
		return agent, err
	case problem != "":
		if f.asJSON { // people read it in the report otherwise
			a.Say("%s: %s", profile.Name, problem)
		}
	default:
		for _, line := range subject.Problems(agent) {
			a.Say("%s: %s", profile.Name, line)
		}
	}
	return agent, nil
}

// searchPath is PATH with absolute folders: agents start in a folder of their own.
func searchPath(path string) string {
	folders := filepath.SplitList(path)
	for i, folder := range folders {
		if full, err := filepath.Abs(folder); err == nil {
			folders[i] = full
		}
	}
	return strings.Join(folders, string(filepath.ListSeparator))
}

var errNoWorkdir = cli.Usage("--workdir: is for an agent that is a command, behind -- or in a profile with run")

// chosenProfile is the profile that the flags name, nil for rkat inside this program.
func (f *subjectFlags) chosenProfile() (*profiles.Profile, error) {
	switch flag := f.setFlag(); {
	case len(f.command) > 0 && f.name != rkatSubject:
		return nil, cli.Usage("--subject %s: there is a command behind -- as well; leave one out", f.name)
	case len(f.command) > 0:
		return f.adHocProfile()
	case flag != "":
		return nil,
			cli.Usage("%s: describes a command behind --, and there is none; write for example: -- my-agent {prompt}",
				flag)
	case f.name == rkatSubject && f.workdir != "":
		return nil, errNoWorkdir
	case f.name == rkatSubject:
		return nil, nil //nolint:nilnil // documented
	}
	p, err := profiles.Find(f.name)
	if err != nil {
		return nil, cli.Usage("--subject %w", err)
	}
	p, err = subject.NarrowProfile(p, f.providers)
	return p, asUsage(err)
}
