package proxy

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/proxy/llm"
)

// hostSet holds the "name:port" pairs that may be intercepted.
type hostSet map[string]bool

func newHostSet(extra []string) (hostSet, error) {
	set := hostSet{}
	for _, name := range slices.Concat(llm.Hosts(), extra) {
		host, port := splitHost(name)
		if _, err := strconv.ParseUint(port, 10, 16); err != nil || host == "" || strings.ContainsAny(name, "/*?@ ") {
			return nil, fmt.Errorf("host %q: write a name or name:port, without a scheme or wildcard", name)
		}
		set[net.JoinHostPort(host, port)] = true
	}
	return set, nil
}

// allows reports whether a client may reach address, "name" or "name:port".
func (s hostSet) allows(address string) bool {
	return s[net.JoinHostPort(splitHost(address))]
}

// hostNames returns the hosts without their ports, as they stand in
// certificates.
func (s hostSet) hostNames() []string {
	var names []string
	for address := range s {
		host, _ := splitHost(address)
		names = append(names, host)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Hosts lists every host name that a proxy with these extra hosts intercepts,
// including the providers': the names its authority must be issued for.
func Hosts(extra []string) ([]string, error) {
	set, err := newHostSet(extra)
	return set.hostNames(), err
}

// Intercepts reports whether requests to u that come through the proxy are
// handled: others are refused, and plain HTTP does not come through it.
func (p *Proxy) Intercepts(u *url.URL) bool {
	return u.Scheme == "https" && p.allowed.allows(u.Host)
}

// splitHost separates a host, in lower case, from its port; 443 when it has
// none.
func splitHost(address string) (host, port string) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = strings.Trim(address, "[]"), "443"
	}
	return strings.ToLower(strings.TrimSuffix(host, ".")), port
}

// urlHost returns address as it stands in a URL: without the port when it is
// that of https.
func urlHost(address string) string {
	host, port := splitHost(address)
	if port != "443" {
		return net.JoinHostPort(host, port)
	}
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}
