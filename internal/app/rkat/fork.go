package rkat

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/session"
)

func (a *app) forkCommand() *cobra.Command {
	var at int
	cmd := &cobra.Command{
		Use: "fork ID", Short: "Begin a session with the messages of another one",
		Example: "  rkat sessions fork 01a1feeb --at 4",
		Long:    "Begin a session with the messages of another one and print its id. With --at it\nbegins with the first N of them; a call of a tool whose result is not among them gets\na result that says so. Thinking and signatures stay as they are.",
		Args:    cli.Args(1, 1, "a session id"), ValidArgsFunction: a.completeSession,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("at") && at < 1 {
				return cli.Usage("--at %d: a fork begins with at least one message", at)
			}
			return a.withSession(cmd, args[0], func(ctx context.Context, store session.Store, id session.ID) error {
				return a.forkSession(ctx, store, id, at)
			})
		},
	}
	cmd.Flags().IntVar(&at, "at", 0, "after so many `messages`, as sessions show counts them (default all)")
	return cmd
}

func (a *app) forkSession(ctx context.Context, store session.Store, from session.ID, n int) error {
	s, err := store.Load(ctx, from)
	if err != nil {
		return err
	}
	if n > len(s.Messages) || len(s.Messages) == 0 {
		return cli.Usage("session %s: it has %s; fork it at one of them", from, countOf(len(s.Messages), "message"))
	}
	id, err := session.NewID()
	if err != nil {
		return err
	}
	if _, err := session.Branch(ctx, store, from, n, id, time.Now().UTC()); err != nil {
		return session.WrapStorage(err)
	}
	if _, err := fmt.Fprintln(a.Stdout, id); err != nil {
		return fmt.Errorf("stdout: %w", err)
	}
	return nil
}
