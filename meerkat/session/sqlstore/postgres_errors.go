package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// database is what errors say of a database, and what they must not say.
type database struct{ name, password string }

// wrapError names the database in err and says what it means, as a
// [*session.StorageError]. Errors of package session stay as they are, and so does the end
// of ctx. It returns nil for nil.
func (d database) wrapError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	if !isStorage(err) {
		return err
	}
	return &session.StorageError{
		Err: fmt.Errorf("session database %s: %s", d.name, d.withoutPassword(describeError(err))),
	}
}

// withoutPassword returns text on one line. No error is known to have the password in
// it; this makes sure.
func (d database) withoutPassword(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if d.password == "" {
		return text
	}
	return strings.ReplaceAll(text, d.password, "…")
}

// isStorage reports whether err is none of package session. A deadline is one of this package:
// callers have looked at the end of their own context before.
func isStorage(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) ||
		errors.As(session.WrapStorage(err), new(*session.StorageError))
}

// describeError returns what err means for somebody who looks after the database.
func describeError(err error) string {
	var answer *pgconn.PgError
	var away *awayError
	isSilent := errors.Is(err, context.DeadlineExceeded)
	switch {
	case errors.As(err, &away):
		return describeError(away.err) +
			"; it is unknown whether the last records are stored; resume the session when the database is back"
	case isSilent && errors.As(err, new(*pgconn.ConnectError)):
		return fmt.Sprintf("cannot be reached: no answer within %s", connectTime)
	case isSilent:
		return fmt.Sprintf("no answer within %s", answerTime)
	case errors.As(err, &answer) && strings.HasPrefix(answer.Code, "28"):
		return "it refuses this user: " + answer.Message + "; check the user and the password of its address"
	case errors.As(err, &answer) && answer.Code == "3D000":
		return answer.Message + "; create it, or name another one in the address"
	case errors.As(err, &answer) && answer.Code == "42501":
		return answer.Message + "; the user must own the schema meerkat, or may create it"
	case errors.As(err, &answer) && answer.Code == "53100":
		return "no space left for it: " + answer.Message
	case errors.As(err, &answer) && answer.Code == "53300":
		return "it has no connection left: " + answer.Message + "; raise its max_connections or start fewer replicas"
	case errors.As(err, &answer):
		return fmt.Sprintf("%s (SQLSTATE %s)", answer.Message, answer.Code)
	}
	return "cannot be reached: " + strings.Join(causesOf(err), "; ")
}

// causesOf returns why a connection could not be made or used, each reason once: pgx tries
// every address with TLS and without, and names it each time twice.
func causesOf(err error) (all []string) {
	switch e := err.(type) { //nolint:errorlint // the tree is walked here
	case *net.OpError, *net.DNSError:
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			all = append(all, causesOf(inner)...)
		}
		slices.Sort(all)
		return slices.Compact(all)
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return causesOf(inner)
		}
	}
	return []string{err.Error()}
}

// awayError is why an Append gave up.
type awayError struct{ err error }

func (e *awayError) Error() string { return e.err.Error() }

// isAway reports whether err says that the database cannot be reached or is silent, and nothing
// of what was asked.
func isAway(err error) bool {
	if !isStorage(err) {
		return false
	}
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		// Shutting down, crashed or starting, or no connection left.
		return strings.HasPrefix(answer.Code, "57P") || answer.Code == "53300"
	}
	return true
}
