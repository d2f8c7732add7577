package serve

import (
	"cmp"
	"net/url"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
	"github.com/meerkat-go/conformance/proxy"
)

// upstreamProxy returns the proxy that leads to the providers, nil for none. Errors do not quote
// the flag, which may hold a login.
func (a *app) upstreamProxy(f *modeFlags) (*proxy.Via, error) {
	if f.via == "" {
		return nil, nil //nolint:nilnil // there need not be one
	}
	via, err := proxy.ParseVia(f.via, a.Getenv(recorderenv.ViaLoginVariable), cmp.Or(a.Getenv("NO_PROXY"), a.Getenv("no_proxy")))
	if err != nil {
		return nil, cli.Usage("--upstream-proxy: %w", err)
	}
	return via, nil
}

// sayUnusedProxy names a proxy of the environment that is not used: it may be the only way to the
// providers. One on this machine is not named, because it may be a recorder. Only the host is
// shown: the value may hold a login.
func (a *app) sayUnusedProxy() {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		u, err := url.Parse(a.Getenv(name))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			continue
		}
		if !isLoopback(u.Hostname()) {
			a.Say("%s: names the proxy %s, which the recorder does not use; if the way to the providers leads through it, say --upstream-proxy %s://%s", name, u.Host, u.Scheme, u.Host)
		}
		return
	}
}

// passwordOf returns the password for via, if any, as a value that must not be recorded.
func passwordOf(via *proxy.Via) []string {
	if via == nil || via.Password() == "" {
		return nil
	}
	return []string{via.Password()}
}
