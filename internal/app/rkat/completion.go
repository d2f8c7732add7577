package rkat

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/meerkat/session"
)

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
