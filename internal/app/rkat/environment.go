package rkat

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/meerkat-go/conformance/internal/app/cli"
)

// environment holds variables by name; of several values of one name, the last
// counts. Package config reads the settings from it, this file the variables of the
// network.
type environment map[string]string

// firstSet returns the first of the variables that is not empty.
func (e environment) firstSet(names ...string) string {
	for _, n := range names {
		if v := e[n]; v != "" {
			return v
		}
	}
	return ""
}

// httpClient returns a client with exactly the proxy and the certificates that
// e names. The default client of net/http would read the process instead. It takes
// headers of at most headerBytes, and unpacks nothing: a small reply could become a
// large one.
func (e environment) httpClient(headerBytes int) (*http.Client, error) {
	proxy, err := e.proxyFunc()
	if err != nil {
		return nil, err
	}
	roots, err := e.rootCertificates()
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &http.Transport{
		Proxy:               proxy,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 15 * time.Second,
		ForceAttemptHTTP2:   true,
		IdleConnTimeout:     time.Minute,

		DisableCompression:     true,
		MaxResponseHeaderBytes: int64(headerBytes),
	}}, nil
}

func (e environment) proxyFunc() (func(*http.Request) (*url.URL, error), error) {
	config := httpproxy.Config{
		HTTPProxy:  e.firstSet("HTTP_PROXY", "http_proxy"),
		HTTPSProxy: e.firstSet("HTTPS_PROXY", "https_proxy"),
		NoProxy:    e.firstSet("NO_PROXY", "no_proxy"),
	}
	// ProxyFunc would ignore a value that it cannot read, and use no proxy.
	if !isProxy(config.HTTPProxy) {
		return nil, cli.Usage("HTTP_PROXY: it is not the address of a proxy; use http://HOST:PORT")
	}
	if !isProxy(config.HTTPSProxy) {
		return nil, cli.Usage("HTTPS_PROXY: it is not the address of a proxy; use http://HOST:PORT")
	}
	choose := config.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return choose(r.URL) }, nil
}

// isProxy reports whether address is empty or names a proxy that net/http can
// speak to, with or without a scheme.
func isProxy(address string) bool {
	if address == "" {
		return true
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	return err == nil && u.Hostname() != "" && slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme)
}

// rootCertificates returns the system's certificates and those of SSL_CERT_FILE.
func (e environment) rootCertificates() (*x509.CertPool, error) {
	file := e["SSL_CERT_FILE"]
	if file == "" {
		return nil, nil // the system's
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, cli.Usage("SSL_CERT_FILE: %v; name a file of PEM certificates or unset it", err)
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, cli.Usage("SSL_CERT_FILE: %s holds no PEM certificate; name one that does or unset it", file)
	}
	return pool, nil
}
