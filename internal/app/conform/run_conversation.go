package conform

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/conform/subject"
	"github.com/meerkat-go/conformance/conform/subject/acp"
	"github.com/meerkat-go/conformance/conform/subject/driver"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/profiles"
)

// conversationFlags describe agents that hold a conversation with conform.
type conversationFlags struct {
	permissions string
}

func (f *conversationFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.permissions, "acp-permissions", "allow", "what an agent of the Agent Client Protocol is answered when it asks for permission: allow or reject")
}

// splitConversation reads --subject acp:CMD and driver:CMD; the kind is "" for every
// other name.
func splitConversation(name string) (kind string, argv []string, err error) {
	kind, command, ok := strings.Cut(name, ":")
	if !ok || kind != "acp" && kind != "driver" {
		return "", nil, nil
	}
	if argv, err = subject.SplitCommand("--subject", command); err != nil {
		return kind, nil, cli.Usage("%w", err)
	}
	return kind, argv, nil
}

// startAgent returns the agent that a command starts, with the variables of a profile. It
// starts it once.
func (f runFlags) startAgent(ctx context.Context, kind string, argv []string, p *profiles.Profile, providers []string) (agent harness.Subject, err error) {
	if f.workdir != "" {
		return nil, errNoWorkdir
	}
	level, err := f.detectLevel(ctx, report.Subject{Name: argv[0], Kind: kind})
	if err != nil {
		return nil, err
	}
	env := func(room harness.Room) ([]string, error) { return subject.Environment(p, room) }
	if kind == "driver" {
		agent, err = driver.New(ctx, driver.Config{Args: argv, Environment: env, Isolation: level})
	} else {
		var permissions acp.Permissions
		if permissions, err = acp.ParsePermissions(f.permissions); err != nil {
			return nil, cli.Usage("--acp-%w", err)
		}
		agent, err = acp.New(ctx, acp.Config{Args: argv, Environment: env, Providers: providers, Permissions: permissions, Isolation: level})
	}
	if err != nil {
		return nil, cli.Usage("--subject %s: %w", kind+":"+strings.Join(argv, " "), err)
	}
	return agent, nil
}

// conversationOf returns the agent of a profile with acp or driver. Such a command
// knows no case, so it may name no more than the folder of its profile.
func (f runFlags) conversationOf(ctx context.Context, p *profiles.Profile) (harness.Subject, error) {
	kind, templates := p.Command()
	values := map[string]string{"profile_dir": p.Dir()}
	var argv []string
	for _, t := range templates {
		word, err := t.Fill(values)
		if err != nil {
			return nil, cli.Usage("profile %s: %s: %w", p.Name, t, err)
		}
		argv = append(argv, word)
	}
	agent, err := f.startAgent(ctx, kind, argv, p, slices.Collect(maps.Keys(p.Providers)))
	if err != nil {
		return nil, err
	}
	return narrowAgent(subject.WithProfile(agent, p), f.providers)
}
