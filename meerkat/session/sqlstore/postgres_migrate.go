package sqlstore

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// migrationLock lets one program at a time change the schema.
const migrationLock = 0x6d6565726b617430 // "meerkat0"

// Part is some tables of the schema "meerkat" whose versions are counted together: one
// for each of the files migrations/NNN_*.sql.
type Part struct {
	Name  string
	Files fs.FS
}

// migrationNames returns the files of a part in the order in which they run.
func (p Part) migrationNames() ([]string, error) {
	names, err := fs.Glob(p.Files, "migrations/*.sql")
	slices.Sort(names)
	return names, err
}

// newerError says that a newer program has changed the tables of a part.
func (p Part) newerError(have, newest int) error {
	return &session.VersionError{Path: "session database, schema of its " + p.Name, Have: have, Newest: newest}
}

// Migrate brings the tables of a part to the newest version: it runs the files of all
// versions that the database has not had yet, in one transaction. It returns that version.
// A part that a newer program has changed is a *session.VersionError, and nothing is
// changed. Several programs may migrate at once.
func Migrate(ctx context.Context, pool *pgxpool.Pool, part Part) (newest int, err error) {
	names, err := part.migrationNames()
	if err != nil {
		return 0, err
	}
	return len(names), pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
			return err
		}
		if err := createVersions(ctx, tx); err != nil {
			return err
		}
		have, err := readVersion(ctx, tx, part.Name)
		if err != nil {
			return err
		}
		if have > len(names) {
			return part.newerError(have, len(names))
		}
		for i, name := range names[have:] {
			statements, err := fs.ReadFile(part.Files, name)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, string(statements)); err != nil {
				return fmt.Errorf("%s: %w", path.Base(name), err)
			}
			if _, err := tx.Exec(
				ctx, "INSERT INTO meerkat.versions (part, version) VALUES ($1, $2)", part.Name, have+i+1,
			); err != nil {
				return err
			}
		}
		return nil
	})
}

// hasVersions reports whether the table of versions exists.
func hasVersions(ctx context.Context, from rowQuerier) (exists bool, err error) {
	err = from.QueryRow(ctx, "SELECT to_regclass('meerkat.versions') IS NOT NULL").Scan(&exists)
	return exists, err
}

// createVersions creates the table of versions. It asks first: a user who may not
// create anything can use what is there.
func createVersions(ctx context.Context, tx pgx.Tx) error {
	if exists, err := hasVersions(ctx, tx); err != nil || exists {
		return err
	}
	_, err := tx.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS meerkat;
		CREATE TABLE meerkat.versions (part text NOT NULL, version integer NOT NULL, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (part, version))`)
	return err
}

// rowQuerier is a pool, a connection or a transaction.
type rowQuerier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// readVersion returns how many migrations a part has had.
func readVersion(ctx context.Context, from rowQuerier, part string) (version int, err error) {
	err = from.QueryRow(
		ctx, "SELECT coalesce(max(version), 0) FROM meerkat.versions WHERE part = $1", part,
	).Scan(&version)
	return version, err
}
