package artifact

import (
	"context"
	"errors"
	"slices"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// ForkedFrom returns the Ancestors of sessions in a store: those that they were forked
// from, and those whose sub-agents they are, as their headers say. A session that was deleted ends the list, and is in it.
func ForkedFrom(store session.Store) Ancestors {
	return func(ctx context.Context, id session.ID) ([]session.ID, error) {
		var all []session.ID
		for {
			s, err := store.Load(ctx, id)
			switch {
			case errors.Is(err, session.ErrNotFound):
				return all, nil
			case err != nil:
				return nil, err
			}
			switch {
			case s.Forked != nil && s.Forked.ID != "":
				id = s.Forked.ID
			case s.Parent != nil:
				id = s.Parent.ID
			default:
				return all, nil
			}
			if slices.Contains(all, id) {
				return all, nil
			}
			all = append(all, id)
		}
	}
}
