package artifact

import (
	"errors"
	"fmt"
)

// The plain failures of a Store; test for them with errors.Is.
var (
	ErrNotFound = errors.New("not found: its time is up, it was deleted, or it belongs to another session")
	ErrDamaged  = errors.New("damaged: run the operation again that made it")
)

func notFound(id ID) error { return fmt.Errorf("artifact %.80s: %w", id, ErrNotFound) }

// Limit is the name of a limit, as settings spell it.
type Limit string

// The limits of a Store.
const (
	LimitBytes      Limit = "max_artifact_bytes"
	LimitPerSession Limit = "max_artifacts_per_session"
	LimitTotalBytes Limit = "max_total_artifact_bytes"
)

// LimitError says that an artifact does not fit. Nothing was stored.
type LimitError struct {
	Limit Limit
	Max   int64 // what the limit allows
	Want  int64 // what it would have been
}

// Error names the limit and says what to do.
func (e *LimitError) Error() string {
	advice := map[Limit]string{
		LimitBytes:      "make the result smaller",
		LimitPerSession: "delete artifacts of the session",
		LimitTotalBytes: "delete artifacts or sessions",
	}[e.Limit]
	return fmt.Sprintf(
		"artifact: %d is more than %s allows, which is %d; %s, or raise the limit", e.Want, e.Limit, e.Max, advice,
	)
}

// VersionError says that a newer program wrote the artifact.
type VersionError struct {
	ID   ID
	Have int
}

// Error names both versions.
func (e *VersionError) Error() string {
	return fmt.Sprintf(
		"artifact %s: format %d is newer than %d, the newest known here; upgrade to read it", e.ID, e.Have, Version,
	)
}
