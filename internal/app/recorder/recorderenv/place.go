package recorderenv

import (
	"cmp"
	"os"

	"github.com/meerkat-go/conformance/proxy/scrub"
)

// Here returns where this program runs, and a program that it starts.
func (a *Env) Here() scrub.Place {
	place := scrub.Place{scrub.Home: a.Getenv("HOME"), scrub.User: cmp.Or(a.Getenv("USER"), a.Getenv("LOGNAME"))}
	place[scrub.Folder], _ = os.Getwd()
	place[scrub.Host], _ = os.Hostname()
	return place
}
