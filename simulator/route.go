package simulator

import (
	"cmp"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/rule"
)

// route is where a request goes.
type route struct {
	*wires.Wire
	*script.Simulation
	op   script.Operation // "" where the provider serves nothing
	id   string           // of the model or the stored reply
	path string           // without the provider's prefix
}

// simulatedWires yields the wires that have a simulation, in their order.
func simulatedWires(yield func(*wires.Wire) bool) {
	all := script.Simulations()
	for _, w := range wires.All() {
		if all[w.Name] != nil && !yield(w) {
			return
		}
	}
}

// Providers returns the names of the wires that are simulated, in the order in which they are listed.
func Providers() (names []string) {
	for w := range simulatedWires {
		names = append(names, w.Name)
	}
	return names
}

// Rules states the rules of a provider in the order in which they are checked;
// nil for another.
func Rules(name string) []rule.Info {
	if b := rule.Books()[name]; b != nil {
		return b.Rules
	}
	return nil
}

// Dialects returns the names of the dialects that can be simulated.
func Dialects() (names []string) {
	for w := range simulatedWires {
		names = slices.AppendSeq(names, maps.Keys(script.Simulations()[w.Name].Dialects))
	}
	slices.Sort(names)
	return names
}

// Accepted states what a provider accepts although it looks like a fault; nil
// for another.
func Accepted(name string) []rule.Info {
	if s := script.Simulations()[name]; s != nil {
		return s.Accepted
	}
	return nil
}

// routeOf returns what a request is for. A path may begin with /PROVIDER.
// Without it the host decides, then a path that only one wire has, then the
// credential. Where the host does not tell the dialect, the request is in the one that is named.
func routeOf(r *http.Request, dialect string) route {
	w, path := cutProvider(r.URL.Path)
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	w = cmp.Or(w, firstWire(func(w *wires.Wire) bool { return w.Host == host }),
		firstWire(func(w *wires.Wire) bool { return slices.Contains(w.MoreHosts, host) }),
		firstWire(func(w *wires.Wire) bool { return w.Paths.MatchString(path) }), byCredential(r))
	serves := func(o *wires.Wire) bool {
		op, _ := script.Simulations()[o.Name].Find(path)
		return op != "" && (o.Host == w.Host || slices.Contains(o.MoreHosts, w.Host))
	}
	if !serves(w) {
		w = cmp.Or(firstWire(serves), w) // another wire of the same host
	}
	to := route{Wire: w, Simulation: script.Simulations()[w.Name].At(r.Host, dialect), path: path}
	to.op, to.id = to.Find(path)
	return to
}

// cutProvider cuts the wire's name off a path, or a beginning that only one wire has. The path of DeepSeek's
// /chat/completions begins with no name.
func cutProvider(path string) (w *wires.Wire, rest string) {
	for w := range simulatedWires {
		for _, other := range script.Simulations()[w.Name].OtherPaths {
			if rest, ok := strings.CutPrefix(path, other[0]); ok {
				return w, other[1] + rest
			}
		}
		serves := func(path string) bool {
			op, _ := script.Simulations()[w.Name].Find(path)
			return op != ""
		}
		if rest, ok := strings.CutPrefix(path, "/"+w.Name); ok && strings.HasPrefix(rest, "/") &&
			(serves(rest) || !serves(path)) {
			return w, rest
		}
	}
	return nil, path
}

func firstWire(matches func(*wires.Wire) bool) *wires.Wire {
	for w := range simulatedWires {
		if matches(w) {
			return w
		}
	}
	return nil
}

// byCredential returns the wire whose own header or key a request carries, else the first whose keys are
// ordinary bearer tokens, which a request to any server may carry.
func byCredential(r *http.Request) *wires.Wire {
	own := firstWire(func(w *wires.Wire) bool {
		c := w.Credentials
		return w.Header != "" && r.Header.Get(w.Header) != "" || c.Prefix == "" && r.Header.Get(c.Header) != "" ||
			keyParameter(r, c) != ""
	})
	ordinary := func(w *wires.Wire) bool { return w.Credentials.Prefix != "" }
	return cmp.Or(own, firstWire(ordinary), firstWire(func(*wires.Wire) bool { return true }))
}

// refuseRoute refuses a request for something that does not exist; nil when it
// does.
func refuseRoute(r *http.Request, to route) *rule.Refusal {
	kind := ""
	switch {
	case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		kind = "upgrade"
	case to.op == "":
		kind = "not_found"
	case !slices.Contains(to.op.Methods(), r.Method):
		kind = "not_allowed"
	default:
		return nil
	}
	return to.RefusalOf(kind, "method", r.Method, "path", to.path)
}

// rejectionPlan plans a refusal in the provider's envelope and headers.
func rejectionPlan(to route, r *rule.Refusal) script.Plan {
	status, header, body := to.Reject(r)
	return script.Plan{Status: status, Header: header, Writes: [][]byte{body}}
}
