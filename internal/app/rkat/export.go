package rkat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// exporterOf returns what writes a session in a format.
func (a *app) exporterOf(format string) (func(io.Writer, *session.Session) error, error) {
	switch {
	case format == "jsonl":
		return session.WriteJSONL, nil
	case format != "html":
		return nil, cli.Usage(
			"--format %s: it must be one of %s%s", format, strings.Join(exportNames, ", "),
			spelling.Hint(format, exportNames),
		)
	case a.backends.Page == nil:
		return nil,
			cli.Usage("--format html: this program is built without it; use --format jsonl, or the rkat command")
	default:
		return a.backends.Page, nil
	}
}

var exportNames = []string{"html", "jsonl"}

func (a *app) exportCommand() *cobra.Command {
	var name, path string
	var force bool
	cmd := &cobra.Command{
		Use: "export ID", Short: "Write what a session looked like: one HTML page, or a line of JSON an event",
		Example: "  rkat sessions export 01a1feeb -o session.html\n  rkat sessions export 01a1feeb --format jsonl | jq .",
		Args:    cli.Args(1, 1, "a session id"), ValidArgsFunction: a.completeSession,
		RunE: func(cmd *cobra.Command, args []string) error {
			write, err := a.exporterOf(name)
			if err != nil {
				return err
			}
			return a.withSession(cmd, args[0], func(ctx context.Context, store session.Store, id session.ID) error {
				s, err := store.Load(ctx, id)
				if err != nil {
					return err
				}
				return a.exportSession(&s, write, name == "jsonl", path, force)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&name, "format", "f", "html", "html or jsonl")
	flags.StringVarP(&path, "output", "o", "", "`file` to write, readable by its owner alone (default stdout)")
	flags.BoolVar(&force, "force", false, "replace a file that exists")
	_ = cmd.RegisterFlagCompletionFunc(
		"format", cobra.FixedCompletions(exportNames, cobra.ShellCompDirectiveNoFileComp),
	)
	return cmd
}

func (a *app) exportSession(s *session.Session, write func(io.Writer, *session.Session) error, isJSON bool, path string,
	force bool) error {
	if path == "" && isJSON {
		return write(a.JSON(), s)
	}
	if path == "" {
		return write(a.Stdout, s)
	}
	var page bytes.Buffer
	if err := write(&page, s); err != nil {
		return err
	}
	put := fileutil.CreateFile
	if force {
		put = fileutil.WriteFile
	}
	switch err := put(path, page.Bytes(), 0o600); {
	case errors.Is(err, fs.ErrExist):
		return cli.Usage("--output %s: exists; use --force to replace it", path)
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
		return cli.Usage("--output %s: %w", path, fileutil.Reason(err))
	case err != nil:
		return fmt.Errorf("--output %s: %w", path, fileutil.Reason(err))
	}
	return nil
}
