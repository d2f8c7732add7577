package rkat

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// completeModels completes --model and --provider.
func completeModels(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("model", completeFrom(func() (names []string) {
		for _, e := range catalog.Models() {
			names = append(names, e.Name)
		}
		return names
	}))
	_ = cmd.RegisterFlagCompletionFunc("provider", completeFrom(catalog.ProviderNames))
}

// completeFrom completes from a list that is made when it is asked for: the catalog is
// not read for a command that does not need it.
func completeFrom(list func() []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return list(), cobra.ShellCompDirectiveNoFileComp
	}
}

// mostCompletions bounds how many sessions a shell is offered.
const mostCompletions = 50

// completeSession completes the id of a session with those used last.
func (a *app) completeSession(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	err := a.withStore(cmd, func(ctx context.Context, store session.Store) error {
		infos, err := store.List(ctx, session.Filter{Limit: mostCompletions})
		for _, i := range infos {
			ids = append(ids, string(i.ID)+"\t"+i.Model)
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
