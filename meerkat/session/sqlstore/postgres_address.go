package sqlstore

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// AddressError is returned for an address that cannot be that of a database. It repeats
// nothing of it, because a password may be anywhere in one that is mistyped.
type AddressError struct{ Why string }

// Error implements error.
func (e *AddressError) Error() string { return "session database: its address " + e.Why }

// addressForm is what an address must look like.
const addressForm = "is not a URL of PostgreSQL; give postgres://user:password@host:5432/database, and write %40, %2F and the like for @, / and the like in a password"

// tlsModes are the values of the parameter sslmode, those of libpq.
var tlsModes = []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}

// parseAddress returns the configuration of a pool, and what errors say of the database.
// Its error is an *AddressError.
func parseAddress(address string) (*pgxpool.Config, database, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || strings.ContainsRune(u.Path, '@') {
		return nil, database{}, &AddressError{addressForm}
	}
	if mode := u.Query().Get("sslmode"); mode != "" && !slices.Contains(tlsModes, mode) {
		return nil, database{}, &AddressError{"has an unknown sslmode; use one of " + strings.Join(tlsModes, ", ")}
	}
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		// What pgx says could quote the password.
		return nil, database{},
			&AddressError{"has a port or parameter that is not valid, or names a file that cannot be read; see sslrootcert, sslcert, passfile and the like in it"}
	}
	c := config.ConnConfig
	return config, database{name: fmt.Sprintf("%s:%d/%s", c.Host, c.Port, c.Database), password: c.Password}, nil
}
