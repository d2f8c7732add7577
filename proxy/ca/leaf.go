package ca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strings"
	"sync"
)

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
		sign, _ = a.leaves.LoadOrStore(host, sync.OnceValues(func() (*tls.Certificate, error) { return a.signLeaf(host) }))
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
