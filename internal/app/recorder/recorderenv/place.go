package recorderenv

import (
	"cmp"
	"os"

	"github.com/meerkat-go/conformance/proxy/replay"
)

// Here returns where this program runs, and a program that it starts.
func (a *Env) Here() replay.Place {
	place := replay.Place{replay.ScrubHome: a.Getenv("HOME"), replay.ScrubUser: cmp.Or(a.Getenv("USER"), a.Getenv("LOGNAME"))}
	place[replay.ScrubFolder], _ = os.Getwd()
	place[replay.ScrubHost], _ = os.Hostname()
	return place
}
