package recorder

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
	"github.com/meerkat-go/conformance/wires"
)

// ClientVariables returns the variables that make a program use the proxy p and trust the files
// in the folder trust. Node uses HTTPS_PROXY only with NODE_USE_ENV_PROXY.
func ClientVariables(p *proxy.Proxy, trust string, ingresses []string) (env []string) {
	if slices.Contains(ingresses, proxy.BaseURL) {
		url := p.URLFor(proxy.BaseURL, "")
		for _, w := range wires.All() {
			env = append(env, w.BaseURLVariables(url)...)
			for _, name := range slices.Sorted(maps.Keys(w.Environment.CloudURLs)) {
				env = append(env, name+"="+url+"/vertex"+w.Environment.CloudURLs[name])
			}
		}
	}
	if !slices.Contains(ingresses, proxy.MITM) {
		return env
	}
	url := p.URLFor(proxy.MITM, "")
	env = append(env, "HTTPS_PROXY="+url, "https_proxy="+url, "NO_PROXY=", "no_proxy=", "NODE_USE_ENV_PROXY=1")
	for _, name := range ca.AddingRoots {
		env = append(env, name+"="+filepath.Join(trust, caFile))
	}
	for _, name := range ca.ReplacingRoots {
		env = append(env, name+"="+filepath.Join(trust, bundleFile))
	}
	return env
}

// ViaLoginVariable holds the login for --upstream-proxy. There is no flag for it, because every
// user of a machine can read command lines.
const ViaLoginVariable = "RECORDER_UPSTREAM_PROXY_LOGIN"

// proxyVariables lead around the proxy, or hold the login of another one. A program never
// inherits them.
var proxyVariables = []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy",
	"RECORDER_UPSTREAM_PROXY", ViaLoginVariable}

// Overlay returns env with settings added, and without what these replace and without
// proxyVariables.
func Overlay(env, settings []string) []string {
	var out []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		replaced := slices.Contains(proxyVariables, name) ||
			slices.ContainsFunc(settings, func(s string) bool { return strings.HasPrefix(s, name+"=") })
		if !replaced {
			out = append(out, kv)
		}
	}
	return append(out, settings...)
}

// ShellLine returns a setting as shells read it, quoted where necessary.
func ShellLine(setting string) string {
	name, value, _ := strings.Cut(setting, "=")
	if value == "" {
		return setting
	}
	return name + "=" + terminal.ShellWord(value)
}

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
			return slices.ContainsFunc(w.Environment.Owners,
				func(owner string) bool { return strings.HasPrefix(name, owner) })
		}
		ends := func(ending string) bool { return strings.HasSuffix(name, ending) }
		u, err := url.Parse(value)
		if err != nil || u.Host == "" || !slices.ContainsFunc(wires.All(), begins) ||
			!slices.ContainsFunc(addressEndings, ends) {
			continue
		}
		switch {
		case u.Host == ours.Host || p.Intercepts(u):
		case u.Scheme == "https":
			sentences = append(sentences,
				fmt.Sprintf("%s: leads to https://%s, which is refused; unset it, or intercept it with --allow-host %s",
					name, u.Host, u.Host))
		default:
			sentences = append(sentences,
				fmt.Sprintf("%s: leads to %s://%s, past the recorder; unset it, or name that address with --upstream and use --ingress base-url", name, u.Scheme, u.Host))
		}
	}
	return sentences
}
