package llm

import (
	"cmp"
	"net"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires"
)

// Host returns the host of a provider's own API, "" for an unknown provider. It is the only
// host that may get the provider's key; for clouds see [CloudHost].
func Host(provider string) string {
	if w := wires.Find(provider); w != nil {
		return w.Host
	}
	return ""
}

// CloudHost returns the host of Vertex, the cloud that serves models of several providers, for a path
// that names a location there.
func CloudHost(path string) string { return wires.VertexHostOf(path) }

// Hosts returns every provider host name: what a proxy may intercept by default.
// The slice belongs to the caller.
func Hosts() (hosts []string) {
	var all []string
	for _, w := range wires.All() {
		all = append(all, w.Host)
	}
	for _, w := range wires.All() {
		all = append(all, w.MoreHosts...)
		for _, cloud := range w.Clouds {
			all = append(all, cloud.Hosts...)
		}
	}
	for _, host := range all {
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// Provider returns the provider whose API a request speaks, or "". The host,
// with or without a port, decides, and the path among the wires of one host; for a host
// that is not a provider's (a base URL on loopback, a gateway) the path does.
func Provider(host, path string) string {
	name, ofHost := bareHostname(host), ""
	isCloud := false
	for _, w := range wires.All() {
		isOfHost := name == w.Host || slices.Contains(w.MoreHosts, name) || slices.Contains(w.OtherHosts, name)
		if isOfHost && w.Paths.MatchString(path) {
			return w.Name
		}
		if isOfHost {
			ofHost = cmp.Or(ofHost, w.Name)
		}
		for _, cloud := range w.Clouds {
			if slices.Contains(cloud.Hosts, name) {
				isCloud = true
			}
		}
	}
	if ofHost != "" {
		return ofHost
	}
	if owner := byCloudPath(path); owner != "" || isCloud {
		return owner
	}
	for _, w := range wires.All() {
		if w.Paths.MatchString(path) {
			return w.Name
		}
	}
	return ""
}

func bareHostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// byCloudPath returns the provider whose model a path of a cloud names.
func byCloudPath(path string) string {
	for _, w := range wires.All() {
		for _, cloud := range w.Clouds {
			if strings.Contains(path, cloud.Path) {
				return w.Name
			}
		}
	}
	return ""
}
