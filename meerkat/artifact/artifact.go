// Package artifact keeps large results of operations beside the sessions, so that a
// conversation can refer to them instead of holding them.
//
// A [Store] keeps artifacts: [NewFiles] in files, [NewMemory] for as long as the process
// lives. An artifact belongs to one session. Its sub-agents and forks may read it, nobody
// else may.
//
//	store := artifact.NewFiles(dir, artifact.Options{Ancestors: artifact.ForkedFrom(sessions)})
//	ref, err := store.Put(ctx, sessionID, result, 0)        // ref.ID goes into the conversation
//	data, ref, err := store.Get(ctx, forkOfThatSession, ref.ID)
//
// The package promises: an artifact is stored whole or not at all, a damaged one is an
// error, one whose time is up is never returned, and no limit of [Limits] is exceeded, by
// several processes together either.
package artifact

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// Version is the newest format of artifacts that this package reads, and the one it
// writes.
const Version = 1

// DefaultTTL is how long an artifact is kept when nobody says otherwise.
const DefaultTTL = 24 * time.Hour

// DefaultSweepInterval is how often artifacts are removed that are kept no longer.
const DefaultSweepInterval = time.Hour

// Permanent is the time to live of an artifact that is kept until it is deleted.
const Permanent = time.Duration(-1)

// ID names an artifact: the id of its session, a dot and 16 hexadecimal digits.
type ID string

// ParseID accepts the form of an ID and nothing else, so that it is always safe in a
// file name.
func ParseID(s string) (ID, error) {
	if owner, name, ok := strings.Cut(s, "."); ok && len(name) == nameLength &&
		strings.Trim(name, "0123456789abcdef") == "" {
		if _, err := session.ParseID(owner); err == nil {
			return ID(s), nil
		}
	}
	return "", fmt.Errorf(
		"artifact %.80q: not an artifact id; want the id of a session, a dot and %d hexadecimal digits", s, nameLength,
	)
}

const nameLength = 16

// Session returns the session that the artifact belongs to.
func (id ID) Session() session.ID {
	owner, _, _ := strings.Cut(string(id), ".")
	return session.ID(owner)
}

func (id ID) fileName() string {
	_, name, _ := strings.Cut(string(id), ".")
	return name
}

// Ref describes an artifact without its content.
type Ref struct {
	ID      ID         `json:"id"`
	Session session.ID `json:"session_id"`
	Size    int64      `json:"size_bytes"`
	Created time.Time  `json:"created_at"`
	// TTL is how long it is kept in seconds, nil for one that is [Permanent].
	TTL     *int64 `json:"ttl_seconds,omitempty"`
	Version int    `json:"version"`
}

// ExpiredAt reports whether the time of the artifact is up.
func (r Ref) ExpiredAt(now time.Time) bool {
	return r.TTL != nil && !now.Before(r.Created.Add(time.Duration(*r.TTL)*time.Second))
}

// Store keeps artifacts. Every method is safe for concurrent use. Errors are those of
// this package, *session.StorageError when the disk is full or the folder is not usable,
// and the error of a context that has ended.
type Store interface {
	// Put keeps data as an artifact of a session. ttl is rounded up to seconds; 0 is the
	// Store's default, [Permanent] keeps it until it is deleted. *LimitError.
	Put(ctx context.Context, owner session.ID, data []byte, ttl time.Duration) (Ref, error)
	// Get returns the content of an artifact to a session that may read it: the one it
	// belongs to, its forks and its sub-agents. ErrNotFound also says that the reader may
	// not, and that its time is up. ErrDamaged, *VersionError.
	Get(ctx context.Context, reader session.ID, id ID) ([]byte, Ref, error)
	// List returns the artifacts of a session, the oldest first.
	List(ctx context.Context, owner session.ID) ([]Ref, error)
	// Delete removes an artifact of a session for good. ErrNotFound.
	Delete(ctx context.Context, owner session.ID, id ID) error
	// Sweep removes the artifacts whose time is up at now, and says how many there were.
	Sweep(ctx context.Context, now time.Time) (removed int, err error)
}
