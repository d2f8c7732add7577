package session

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// Store keeps sessions. Every method is safe for concurrent use; package
// storetest holds any Store to this contract.
type Store interface {
	// Create starts a session with the given header and takes its write lock.
	// The header is durable when Create returns. ErrExists if the ID is taken.
	Create(ctx context.Context, h Header) (Writer, error)
	// Open takes the write lock of a session and returns what it holds. A torn
	// tail is repaired, and the repair recorded, before Open returns.
	// ErrNotFound, *LockedError, *CorruptError, *VersionError.
	Open(ctx context.Context, id ID) (Session, Writer, error)
	// Load returns what a session holds now, without a lock and without
	// repairs. Errors as Open, but never *LockedError.
	Load(ctx context.Context, id ID) (Session, error)
	// List returns what is stored, last updated first. One damaged session does
	// not hide the others: see Info.Problem.
	List(ctx context.Context, f Filter) ([]Info, error)
	// Delete removes a session for good. ErrNotFound, *LockedError.
	Delete(ctx context.Context, id ID) error
}

// Writer appends to the one session whose lock it holds. It is used by one
// goroutine at a time.
type Writer interface {
	// Append makes records durable, in order, before it returns. After an error
	// the Writer refuses every further record: later ones may depend on the one
	// that was lost. An ended context appends nothing.
	Append(ctx context.Context, records ...Record) error
	// Close releases the lock. Closing twice is allowed.
	Close() error
}

// Info describes a stored session without its messages.
type Info struct {
	Header
	Updated time.Time
	// Problem says why the session cannot be read, nil if its header can. ID is
	// set all the same.
	Problem error
}

// Filter selects from a listing. The zero value selects everything.
type Filter struct {
	CreatedAfter time.Time
	UpdatedAfter time.Time
	Offset       int
	Limit        int // 0: no limit
}

// Select sorts infos, last updated first, and applies f. Stores share it.
func (f Filter) Select(infos []Info) []Info {
	infos = slices.DeleteFunc(infos, func(i Info) bool {
		return i.Created.Before(f.CreatedAfter) || i.Updated.Before(f.UpdatedAfter)
	})
	slices.SortFunc(infos, func(a, b Info) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(b.ID, a.ID))
	})
	infos = infos[min(max(f.Offset, 0), len(infos)):]
	if f.Limit > 0 && f.Limit < len(infos) {
		infos = infos[:f.Limit]
	}
	return infos
}

// Find returns the one session whose ID begins with prefix, ErrNotFound if
// there is none, *AmbiguousError if there are several.
func Find(ctx context.Context, store Store, prefix string) (ID, error) {
	infos, err := store.List(ctx, Filter{})
	if err != nil {
		return "", err
	}
	var found []ID
	for _, i := range infos {
		if strings.HasPrefix(string(i.ID), strings.ToLower(prefix)) {
			found = append(found, i.ID)
		}
	}
	switch {
	case prefix == "" || len(found) == 0:
		return "", NotFound(ID(prefix))
	case len(found) > 1:
		return "", &AmbiguousError{Prefix: prefix, Candidates: found}
	}
	return found[0], nil
}

// Newest returns the session that was updated last, other than those of sub-agents;
// ErrNotFound if there is none.
func Newest(ctx context.Context, store Store) (ID, error) {
	infos, err := store.List(ctx, Filter{})
	if err != nil {
		return "", err
	}
	for _, info := range infos {
		if info.Parent == nil {
			return info.ID, nil
		}
	}
	return "", NotFound("")
}
