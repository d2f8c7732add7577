package llm

import (
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
	var clouds []string
	for _, w := range wires.All() {
		hosts = append(hosts, w.Host)
		for _, cloud := range w.Clouds {
			clouds = append(clouds, cloud.Hosts...)
		}
	}
	for _, host := range clouds {
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// Provider returns the provider whose API a request speaks, or "". The host,
// with or without a port, decides; for a host that is not a provider's (a base
// URL on loopback, a gateway) the path does.
func Provider(host, path string) string {
	name := bareHostname(host)
	isCloud := false
	for _, w := range wires.All() {
		if name == w.Host || slices.Contains(w.OtherHosts, name) {
			return w.Name
		}
		for _, cloud := range w.Clouds {
			if slices.Contains(cloud.Hosts, name) {
				isCloud = true
			}
		}
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
