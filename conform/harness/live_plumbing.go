package harness

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/wire"
)

// shortfall is why a case with a real model cannot show what it was written to show,
// without any fault of the agent. The zero value is not a shortfall.
type shortfall struct {
	reason string
	// isModels says that the model chose to do something else: another try may help.
	isModels bool
}

// liveShortfall looks for what kept a case from its end: a provider that could not
// answer, then a model that did not call the tools it was asked to call.
func liveShortfall(ev *evidence.Evidence, steps []Step, own map[string]string) shortfall {
	for i := range ev.Exchanges {
		x := &ev.Exchanges[i]
		isLast := i+1 == len(ev.Exchanges) || ev.Exchanges[i+1].Process != x.Process
		if why := explainUnavailability(x); why != "" && isLast {
			why = fmt.Sprintf("%s to request %d", why, x.Index)
			if isUnanswered(x) {
				why += ": its host cannot be reached from here, or it closed the connection; check the network and --upstream"
			}
			return shortfall{reason: why}
		}
	}
	for i, step := range steps {
		if i >= len(ev.Process) || ev.Process[i].ExitCode != 0 || !slices.ContainsFunc(ev.Exchanges, func(x evidence.Exchange) bool { return x.Process == i }) {
			continue // the agent itself did not get so far
		}
		for _, role := range step.Calls {
			if !slices.ContainsFunc(ev.Exchanges, func(x evidence.Exchange) bool { return x.Process == i && callsRole(&x, role, own[role]) }) {
				return shortfall{fmt.Sprintf("the model did not call the %s tool in step %d, which it was asked to do", role, i), true}
			}
		}
	}
	return shortfall{}
}

// explainUnavailability says how a provider answered that did not work for this user at this
// time, "" when it answered or refused what the agent sent.
func explainUnavailability(x *evidence.Exchange) string {
	status := x.Response.Status
	switch {
	case isUnanswered(x):
		return "the provider gave no reply"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Sprintf("the provider does not accept the key in %s: it answered %d", wires.Find(x.Provider).Environment.KeyNames(), status)
	case status == http.StatusPaymentRequired || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
		return fmt.Sprintf("the provider answered %d", status)
	case status == http.StatusBadRequest && outOfCredit.Match(x.Response.Body):
		return "the provider wants to be paid first"
	}
	return ""
}

// isUnanswered reports whether no reply of the provider arrived.
func isUnanswered(x *evidence.Exchange) bool {
	return x.Response.Status == 0 || x.Provenance == evidence.ProvenanceInjected
}

// outOfCredit is how Anthropic refuses an account without money.
var outOfCredit = regexp.MustCompile(`(?i)credit balance is too low`)

// callsRole reports whether the model calls the tool with a role in a reply: by its
// name, before which agents put that of the server, by code that names it, or by the name
// of the agent's own tool, if it has one for the role.
func callsRole(x *evidence.Exchange, role, own string) bool {
	name := "conform_" + role
	reply := x.ReadReply()
	return slices.ContainsFunc(reply.Items, func(it wire.Item) bool {
		return it.What == wire.Call && (own != "" && it.Name == own || strings.HasSuffix(it.Name, name) || strings.Contains(it.Args, name))
	})
}

// refusals are the requests that the provider refused, in its own words.
func refusals(ev *evidence.Evidence) (list []string) {
	for i := range ev.Exchanges {
		x := &ev.Exchanges[i]
		if status := x.Response.Status; status >= 400 && status < 500 && explainUnavailability(x) == "" {
			list = append(list, fmt.Sprintf("the provider refused request %d with %d%s", x.Index, status, said(x.Response.Body)))
		}
	}
	return list
}
