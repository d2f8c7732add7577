package recorderenv

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/wires"
)

// addressEndings end the names of variables that hold the address of a provider. They begin with what
// the wires say.
var addressEndings = []string{"BASE_URL", "API_BASE", "API_URL", "ENDPOINT"}

// VariablesPastProxy describes the variables in a program's environment that lead its requests
// past the proxy p, or to a host that p refuses. It shows no path, query or user of their
// values: a key may stand there.
func VariablesPastProxy(p *proxy.Proxy, env []string) (sentences []string) {
	ours, err := url.Parse(p.URL())
	if err != nil {
		return nil
	}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		begins := func(w *wires.Wire) bool {
			return slices.ContainsFunc(w.Environment.Owners, func(owner string) bool { return strings.HasPrefix(name, owner) })
		}
		ends := func(ending string) bool { return strings.HasSuffix(name, ending) }
		u, err := url.Parse(value)
		if err != nil || u.Host == "" || !slices.ContainsFunc(wires.All(), begins) || !slices.ContainsFunc(addressEndings, ends) {
			continue
		}
		switch {
		case u.Host == ours.Host || p.Intercepts(u):
		case u.Scheme == "https":
			sentences = append(sentences, fmt.Sprintf("%s: leads to https://%s, which is refused; unset it, or intercept it with --allow-host %s", name, u.Host, u.Host))
		default:
			sentences = append(sentences, fmt.Sprintf("%s: leads to %s://%s, past the recorder; unset it, or name that address with --upstream and use --ingress base-url", name, u.Scheme, u.Host))
		}
	}
	return sentences
}
