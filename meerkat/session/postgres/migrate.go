package postgres

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

// Migrate brings the tables of one part of the schema "meerkat" to the newest version:
// it runs the files migrations/NNN_*.sql of all that the database has not had yet, in
// one transaction. It returns that version. A part that a newer program has changed is
// a *session.VersionError, and nothing is changed. Several programs may migrate at once.
func Migrate(ctx context.Context, pool *pgxpool.Pool, part string, files fs.FS) (newest int, err error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return 0, err
	}
	slices.Sort(names)
	return len(names), pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
			return err
		}
		if err := createVersions(ctx, tx); err != nil {
			return err
		}
		have, err := readVersion(ctx, tx, part)
		if err != nil {
			return err
		}
		if have > len(names) {
			return &session.VersionError{Path: "session database, schema of its " + part, Have: have, Newest: len(names)}
		}
		return runMigrations(ctx, tx, part, files, names, have)
	})
}

// createVersions creates the table of versions. It asks first: a user who may not
// create anything can use what is there.
func createVersions(ctx context.Context, tx pgx.Tx) error {
	var exists bool
	if err := tx.QueryRow(ctx, "SELECT to_regclass('meerkat.versions') IS NOT NULL").Scan(&exists); err != nil || exists {
		return err
	}
	_, err := tx.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS meerkat;
		CREATE TABLE meerkat.versions (part text NOT NULL, version integer NOT NULL, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (part, version))`)
	return err
}

// readVersion returns how many migrations a part has had. from is a pool or a
// transaction.
func readVersion(ctx context.Context, from interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, part string) (version int, err error) {
	err = from.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM meerkat.versions WHERE part = $1", part).Scan(&version)
	return version, err
}

// runMigrations runs the files after the first done of them.
func runMigrations(ctx context.Context, tx pgx.Tx, part string, files fs.FS, names []string, done int) error {
	for i, name := range names[done:] {
		statements, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, string(statements)); err != nil {
			return fmt.Errorf("%s: %w", path.Base(name), err)
		}
		if _, err := tx.Exec(ctx, "INSERT INTO meerkat.versions (part, version) VALUES ($1, $2)", part, done+i+1); err != nil {
			return err
		}
	}
	return nil
}
