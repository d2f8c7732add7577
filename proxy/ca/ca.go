// Package ca holds the certificate authority of the intercepting proxy and signs
// the certificates it serves.
//
// [Open] keeps an authority in a folder, [New] makes one in memory only:
//
//	hosts, err := proxy.Hosts(nil)
//	authority, err := ca.Open(dir, hosts, time.Now())
//	pem := authority.PEM() // what clients are told to trust
//
// A stolen key is worth little: it is ECDSA P-256, valid for at most 30 days, and
// cannot sign another authority. Its critical name constraints let clients accept
// it only for the hosts it was issued for and loopback. The key is stored with
// mode 0600 in the caller's folder and nowhere else.
package ca

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// lifetime is how long an authority is valid. Validity starts an hour before the
// issue, so that a client with a slow clock accepts it.
const lifetime = 30 * 24 * time.Hour

// clockSkew is how far a client's clock may be behind.
const clockSkew = time.Hour

// Authority signs certificates for its hosts and nothing else. It is safe for
// concurrent use.
type Authority struct {
	cert           *x509.Certificate
	key            *ecdsa.PrivateKey
	leaves         sync.Map // host → func() (*tls.Certificate, error)
	replacedReason string   // Open replaced the one before
}

// Replaced returns why Open issued this authority in place of another, as one
// clause for people, or "". Clients that trust the old authority must be given
// this one.
func (a *Authority) Replaced() string { return a.replacedReason }

// New issues an authority for hosts (names or IP addresses, without ports) and
// loopback. It exists in memory only; Open keeps one on disk.
func New(hosts []string, now time.Time) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("proxy authority: %w", err)
	}
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	names, ranges := nameConstraints(hosts)
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "meerkat recorder " + now.UTC().Format(time.DateOnly)},
		NotBefore:    now.Add(-clockSkew),
		NotAfter:     now.Add(-clockSkew).Add(lifetime),

		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},

		// No names would mean every name, no ranges every address, so both are
		// always set.
		PermittedDNSDomainsCritical: true,
		PermittedDNSDomains:         names,
		PermittedIPRanges:           ranges,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("proxy authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("proxy authority: %w", err)
	}
	return &Authority{cert: cert, key: key}, nil
}

// Certificate returns the authority's own certificate. Do not change it.
func (a *Authority) Certificate() *x509.Certificate { return a.cert }

// PEM returns the certificate in the form that clients are given to trust.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// Pool returns a pool that trusts this authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Hosts lists the names the authority may sign for, sorted, loopback included.
func (a *Authority) Hosts() []string { return slices.Clone(a.cert.PermittedDNSDomains) }

// Permits reports whether the authority signs for host. Names must match
// exactly: the constraint also covers names below a host, but the proxy never
// intercepts those.
func (a *Authority) Permits(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return slices.ContainsFunc(a.cert.PermittedIPRanges, func(r *net.IPNet) bool { return r.Contains(ip) })
	}
	return slices.Contains(a.cert.PermittedDNSDomains, strings.ToLower(host))
}

// issuedFor reports whether the authority is constrained to exactly hosts.
func (a *Authority) issuedFor(hosts []string) bool {
	names, ranges := nameConstraints(hosts)
	return a.cert.PermittedDNSDomainsCritical &&
		slices.Equal(a.cert.PermittedDNSDomains, names) &&
		slices.EqualFunc(a.cert.PermittedIPRanges, ranges,
			func(x, y *net.IPNet) bool { return x.String() == y.String() })
}

// nameConstraints splits hosts into the names and address ranges of a
// certificate, each sorted and without duplicates, with loopback added.
func nameConstraints(hosts []string) (names []string, ranges []*net.IPNet) {
	addresses := []string{"127.0.0.0/8", "::1/128"}
	names = []string{"localhost"}
	for _, host := range hosts {
		ip := net.ParseIP(host)
		switch {
		case ip == nil:
			names = append(names, strings.ToLower(host))
		case ip.IsLoopback():
		case ip.To4() != nil:
			addresses = append(addresses, ip.String()+"/32")
		default:
			addresses = append(addresses, ip.String()+"/128")
		}
	}
	slices.Sort(names)
	slices.Sort(addresses)
	for _, cidr := range slices.Compact(addresses) {
		if _, r, err := net.ParseCIDR(cidr); err == nil {
			ranges = append(ranges, r)
		}
	}
	return slices.Compact(names), ranges
}

func serialNumber() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("certificate serial: %w", err)
	}
	return serial, nil
}

// hostConn is a connection whose client asked for a host by CONNECT.
type hostConn interface{ Host() string }

// TLSConfig returns one server configuration for every intercepted connection.
// Share it, so that TLS sessions resume. It offers HTTP/2 and HTTP/1.1. When the
// connection has a method Host() string, the name that the client sends inside TLS must
// be that host.
func (a *Authority) TLSConfig() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: a.certificateFor,
	}
}

func (a *Authority) certificateFor(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.ToLower(hello.ServerName)
	if conn, ok := hello.Conn.(hostConn); ok {
		host := strings.ToLower(conn.Host())
		if name != "" && name != host {
			return nil, fmt.Errorf("%s: asked for inside a tunnel to %s", name, host)
		}
		name = host
	}
	return a.Leaf(name)
}

// Leaf returns the certificate for host. It is signed at its first use and
// shared by all later ones: a hundred simultaneous first connections sign one.
func (a *Authority) Leaf(host string) (*tls.Certificate, error) {
	host = strings.ToLower(host)
	if !a.Permits(host) {
		return nil, fmt.Errorf("%q: not a host this proxy intercepts", host)
	}
	sign, ok := a.leaves.Load(host)
	if !ok {
		sign, _ = a.leaves.LoadOrStore(host,
			sync.OnceValues(func() (*tls.Certificate, error) { return a.signLeaf(host) }))
	}
	return sign.(func() (*tls.Certificate, error))()
}

// signLeaf signs a certificate for host. The name is in the SAN only: OpenSSL
// clients check a common name against the DNS constraints even when it is an
// address, and refuse it.
func (a *Authority) signLeaf(host string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("%s: certificate: %w", host, err)
	}
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		NotBefore:    a.cert.NotBefore,
		NotAfter:     a.cert.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("%s: certificate: %w", host, err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("%s: certificate: %w", host, err)
	}
	return &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: key, Leaf: leaf}, nil
}

// rootFiles are where systems keep their trusted roots as one PEM file.
var rootFiles = []string{
	"/etc/ssl/certs/ca-certificates.crt",                // Debian, Arch, Gentoo
	"/etc/pki/tls/certs/ca-bundle.crt",                  // Fedora, RHEL
	"/etc/ssl/ca-bundle.pem",                            // openSUSE
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // RHEL
	"/etc/ssl/cert.pem",                                 // Alpine, macOS, BSD
}

// SystemRoots returns the roots that a program trusts by default: the file named
// by sslCertFile (the caller's SSL_CERT_FILE, "" for none), else the system's.
// It is empty when neither can be read.
func SystemRoots(sslCertFile string) []byte {
	files := rootFiles
	if sslCertFile != "" {
		files = []string{sslCertFile}
	}
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			return data
		}
	}
	return nil
}

// Variables that tell programs which authorities to trust, each the name of a PEM file. Those of the
// first list add to a program's own roots, those of the second replace them. LWP of Perl reads
// PERL_LWP_SSL_CA_FILE, and TLS of Haskell SYSTEM_CERTIFICATE_PATH. Java, PHP, Erlang and programs that
// use libcurl or Mono read none.
var (
	AddingRoots    = []string{"NODE_EXTRA_CA_CERTS", "DENO_CERT", "CODEX_CA_CERTIFICATE"}
	ReplacingRoots = []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE", "PIP_CERT",
		"GIT_SSL_CAINFO",
		"CARGO_HTTP_CAINFO", "BUNDLE_SSL_CA_CERT", "NPM_CONFIG_CAFILE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
		"PERL_LWP_SSL_CA_FILE", "SYSTEM_CERTIFICATE_PATH"}
)

// Bundle returns roots with the authority added, as one PEM file. SSL_CERT_FILE,
// REQUESTS_CA_BUNDLE and CURL_CA_BUNDLE replace a client's roots and do not add
// to them.
func (a *Authority) Bundle(roots []byte) []byte {
	return bytes.Join([][]byte{bytes.TrimSpace(roots), a.PEM()}, []byte("\n"))
}
