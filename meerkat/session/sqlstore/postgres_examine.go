package sqlstore

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// State is what [Examine] finds in a database.
type State struct {
	Name     string // HOST:PORT/DATABASE
	Sessions int
	Parts    []PartState // in the order in which Examine was asked for them, sessions first
}

// PartState says how far the tables of a part are.
type PartState struct {
	Name    string
	Version int // of the tables in the database; 0: there are none yet
	Newest  int // the version that this program brings them to
}

// Examine connects to a database and reads the versions of its tables, those of sessions
// and those of more. It creates and changes nothing. Tables that a newer program has
// changed are a *session.VersionError, an address that is not valid an *AddressError, and
// a database that cannot be used is a *session.StorageError; no error has the password. The
// State has the Name also beside an error, unless the address is not valid.
func Examine(ctx context.Context, o Options, more ...Part) (State, error) {
	config, about, err := parseOptions(o)
	if err != nil {
		return State{}, err
	}
	s := State{Name: about.name}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err == nil {
		err = s.readFrom(ctx, conn, append([]Part{sessionsPart()}, more...))
		_ = conn.Close(ctx) // it changed nothing
	}
	return s, about.wrapError(ctx, err)
}

// readFrom fills s.
func (s *State) readFrom(ctx context.Context, conn *pgx.Conn, parts []Part) error {
	exists, err := hasVersions(ctx, conn)
	if err != nil {
		return err
	}
	for _, p := range parts {
		names, err := p.migrationNames()
		if err != nil {
			return err
		}
		state := PartState{Name: p.Name, Newest: len(names)}
		if exists {
			if state.Version, err = readVersion(ctx, conn, p.Name); err != nil {
				return err
			}
		}
		s.Parts = append(s.Parts, state)
		if state.Version > state.Newest {
			return p.newerError(state.Version, state.Newest)
		}
	}
	if s.Parts[0].Version == 0 {
		return nil
	}
	return conn.QueryRow(ctx, "SELECT count(*) FROM meerkat.sessions").Scan(&s.Sessions)
}
