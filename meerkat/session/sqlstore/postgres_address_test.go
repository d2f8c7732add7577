package sqlstore

import (
	"errors"
	"strings"
	"testing"
)

// addressCanary is the password in addresses of the fuzzer.
const addressCanary = "canary7b1e"

// FuzzAddress: no address makes the reader panic, and what it returns to be shown has no
// password, wherever in the address a user has put it.
func FuzzAddress(f *testing.F) {
	for _, a := range []string{
		"postgres://u:" + addressCanary + "@db:5432/rkat",
		"postgres://u:" + addressCanary + "@db/rkat?sslmode=verify-full&pool_max_conns=3",
		"postgres://u@db/rkat?password=" + addressCanary + "&sslmode=" + addressCanary,
		"postgres://u:5/" + addressCanary + "@db/rkat",
		"postgres://u:5%2F" + addressCanary + "@a:1,b:2/rkat?target_session_attrs=" + addressCanary,
		"host=db password=" + addressCanary,
		"postgres://u:" + addressCanary + "@[::1/\n",
		"postgres://u:" + addressCanary + "#@db/rkat?sslrootcert=/nowhere&connect_timeout=-1",
	} {
		f.Add(a)
	}
	f.Fuzz(func(t *testing.T, address string) {
		config, about, err := parseAddress(address)
		if err != nil {
			if config != nil || !errors.As(err, new(*AddressError)) || strings.Contains(err.Error(), addressCanary) {
				t.Errorf("%T %v", err, err)
			}
			return
		}
		password := config.ConnConfig.Password
		if strings.Contains(password, addressCanary) && strings.Contains(about.name, addressCanary) &&
			strings.Count(address, addressCanary) == 1 {
			t.Errorf("the password is in the name %q", about.name)
		}
		if shown := about.withoutPassword("it says " + password + "."); len(password) > 8 &&
			strings.Contains(shown, password) {
			t.Errorf("the password is in %q", shown)
		}
	})
}
