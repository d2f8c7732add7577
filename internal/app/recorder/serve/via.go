package serve

import (
	"cmp"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
	"github.com/meerkat-go/conformance/proxy"
)

// upstreamProxy is the proxy that leads to the providers, nil for none. Errors do
// not quote the flag, which may hold a login.
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

// passwordOf is the password for via as something that must not be recorded.
func passwordOf(via *proxy.Via) []string {
	if via == nil || via.Password() == "" {
		return nil
	}
	return []string{via.Password()}
}
