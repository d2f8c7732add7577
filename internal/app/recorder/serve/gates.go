package serve

import (
	"fmt"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// nothingAsked is said of a run that proves nothing: a program that goes around
// the proxy passes every other gate.
const nothingAsked = "nothing was asked for: the program made no request, or does not use the proxy (Node before 22.21 cannot; " +
	"--ingress base-url is for those); recorder doctor -- CMD tells what is the matter"

// nothingAskedReason is why nothing was asked for. What the proxy turned away was said
// when it was.
func (a *app) nothingAskedReason() string {
	if n := int(a.turnedAway.Load()); n > 0 {
		return "nothing was asked for: " + cli.Count(n, "attempt was", "attempts were") + " turned away, as said above; recorder doctor -- CMD tells more"
	}
	return nothingAsked
}

// failedGates are the sentences by which a replay fails, none when it passed. unasked
// is the one for a replay of which nothing was asked.
func failedGates(got replay.Receipt, allowUnused bool, unasked string) (failed []string) {
	if got.Served+got.Missed+got.Struck == 0 {
		return []string{unasked}
	}
	if got.Missed > 0 {
		failed = append(failed, fmt.Sprintf("%s no recorded answer; if that is meant, record what is missing with --mode record-missing, "+
			"or everything afresh with --mode refresh", cli.Count(got.Missed, "request has", "requests have")))
	}
	if got.Unused > 0 && !allowUnused {
		failed = append(failed, fmt.Sprintf("%s never asked for; if that is meant, record afresh with --mode refresh, or say --allow-unused",
			cli.Count(got.Unused, "interaction was", "interactions were")))
	}
	return append(failed, got.FaultsIdle...)
}
