package rkat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// shownOperation is an operation in the JSON of sessions show.
type shownOperation struct {
	ID        session.ID            `json:"id"`
	Name      string                `json:"name,omitempty"`
	Submitted time.Time             `json:"submitted_at"`
	Status    string                `json:"status"` // open: it has not ended, or was interrupted with the run
	Delivered bool                  `json:"delivered"`
	Reserved  *session.Limits       `json:"reserved,omitempty"`
	End       *session.OperationEnd `json:"end,omitempty"`
}

const statusOpen = "open"

func shownOperations(s *session.Session) (all []shownOperation) {
	for _, o := range s.Operations() {
		shown := shownOperation{
			ID: o.ID, Name: o.Label, Submitted: o.At, Status: statusOpen, Delivered: o.Delivered, Reserved: o.Reserved,
			End: o.End,
		}
		if o.End != nil {
			shown.Status = o.End.Status
		}
		all = append(all, shown)
	}
	return all
}

// maxShownDepth bounds the tree that is shown: damaged headers could name one another.
const maxShownDepth = 16

// printOperations prints the operations of a session, and below each those of its
// sub-agent.
func printOperations(ctx context.Context, w io.Writer, store session.Store, s *session.Session, depth int) error {
	all := shownOperations(s)
	if len(all) > 0 && depth == 0 {
		fmt.Fprintln(w, "\noperations:")
	}
	for _, o := range all {
		line := fmt.Sprintf("%s%s%s  %s", strings.Repeat("  ", depth+1), spaceBehind(o.Name), o.ID, o.Status)
		if o.End != nil {
			line += fmt.Sprintf(", %s", countOf(o.End.Spent.Tokens, "token"))
			if o.End.Attempt > 1 {
				line += fmt.Sprintf(", %d runs", o.End.Attempt)
			}
			if o.End.Error != "" {
				line += ": " + o.End.Error
			}
		}
		if _, err := fmt.Fprintln(w, terminal.Line(line)); err != nil {
			return err //nolint:wrapcheck // of stdout
		}
		child, err := store.Load(ctx, o.ID)
		switch {
		case errors.Is(err, session.ErrNotFound) || depth >= maxShownDepth:
		case err != nil:
			return err
		default:
			if err := printOperations(ctx, w, store, &child, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// spaceBehind returns a name and a space, "" for no name.
func spaceBehind(name string) string {
	return strings.TrimLeft(cmp.Or(name, " ")+" ", " ")
}
