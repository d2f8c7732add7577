package artifact

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// Limits bound what a Store keeps. A zero field is the default.
type Limits struct {
	MaxBytes      int64 // of one artifact; default [DefaultMaxBytes]
	MaxPerSession int   // artifacts of one session; default [DefaultMaxPerSession]
	MaxTotalBytes int64 // of all artifacts; default [DefaultMaxTotalBytes]
}

// The default limits.
const (
	DefaultMaxBytes      = 16 << 20
	DefaultMaxPerSession = 1000
	DefaultMaxTotalBytes = 1 << 30
)

// Ancestors returns the sessions that a session was forked from or is a sub-agent of,
// directly or not, in any order.
type Ancestors func(ctx context.Context, id session.ID) ([]session.ID, error)

// Options are what the caller of a Store decides. The zero Options are ready for use.
type Options struct {
	Limits Limits
	TTL    time.Duration    // of an artifact for which Put names none; 0: [DefaultTTL]
	Now    func() time.Time // nil: time.Now
	Random io.Reader        // for ids; nil: crypto/rand
	// Ancestors says whose artifacts a session may read beside its own; nil: none.
	Ancestors Ancestors
}

func (o Options) withDefaults() Options {
	o.Limits.MaxBytes = cmp.Or(o.Limits.MaxBytes, DefaultMaxBytes)
	o.Limits.MaxPerSession = cmp.Or(o.Limits.MaxPerSession, DefaultMaxPerSession)
	o.Limits.MaxTotalBytes = cmp.Or(o.Limits.MaxTotalBytes, DefaultMaxTotalBytes)
	o.TTL = cmp.Or(o.TTL, DefaultTTL)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	return o
}

// makeRef describes a new artifact.
func (o Options) makeRef(owner session.ID, size int, ttl time.Duration) (Ref, error) {
	if _, err := session.ParseID(string(owner)); err != nil {
		return Ref{}, err
	}
	if int64(size) > o.Limits.MaxBytes {
		return Ref{}, &LimitError{LimitBytes, o.Limits.MaxBytes, int64(size)}
	}
	var b [nameLength / 2]byte
	if _, err := io.ReadFull(o.Random, b[:]); err != nil {
		return Ref{}, fmt.Errorf("artifact: no randomness for an id: %w", err)
	}
	id := ID(fmt.Sprintf("%s.%x", owner, b))
	r := Ref{ID: id, Session: owner, Size: int64(size), Created: o.Now().UTC().Round(0), Version: Version}
	if ttl == 0 {
		ttl = o.TTL
	}
	if ttl > 0 {
		seconds := int64((ttl-1)/time.Second) + 1
		r.TTL = &seconds
	}
	return r, nil
}

// usage is what a Store holds before something is added.
type usage struct {
	ofSession int   // artifacts of the session
	total     int64 // bytes of all artifacts
}

// checkRoom returns a *LimitError if there is no room for one more artifact.
func (l Limits) checkRoom(have usage, size int64) error {
	switch {
	case have.ofSession >= l.MaxPerSession:
		return &LimitError{LimitPerSession, int64(l.MaxPerSession), int64(have.ofSession) + 1}
	case size > l.MaxTotalBytes-min(have.total, l.MaxTotalBytes):
		return &LimitError{LimitTotalBytes, l.MaxTotalBytes, have.total + min(size, math.MaxInt64-have.total)}
	}
	return nil
}

// checkReader returns ErrNotFound unless the reader may read the artifact.
func (o Options) checkReader(ctx context.Context, reader session.ID, id ID) error {
	if _, err := ParseID(string(id)); err != nil {
		return errors.Join(err, notFound(id))
	}
	if reader == id.Session() {
		return nil
	}
	if o.Ancestors == nil {
		return notFound(id)
	}
	ancestors, err := o.Ancestors(ctx, reader)
	if err != nil {
		return fmt.Errorf("artifact %s: who may read it is not known: %w", id, err)
	}
	if !slices.Contains(ancestors, id.Session()) {
		return notFound(id)
	}
	return nil
}

// checkOwner returns ErrNotFound unless the artifact belongs to the session.
func checkOwner(owner session.ID, id ID) error {
	if _, err := ParseID(string(id)); err != nil {
		return errors.Join(err, notFound(id))
	}
	if owner != id.Session() {
		return notFound(id)
	}
	return nil
}
