package artifact

import (
	"context"
	"errors"
	"slices"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// ForkedFrom returns the Ancestors of sessions in a store: those that they were forked
// from, as their headers say. A session that was deleted ends the list, and is in it.
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
			case s.Forked == nil || slices.Contains(all, s.Forked.ID):
				return all, nil
			}
			id = s.Forked.ID
			all = append(all, id)
		}
	}
}
