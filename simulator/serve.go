package simulator

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strings"
	"time"
)

// Server is a handler on loopback.
type Server struct {
	// URL is https://HOST:PORT, or http:// without TLS.
	URL string
	// CA is the PEM certificate that clients must trust; nil without TLS.
	CA   []byte
	http *http.Server
	done chan struct{}
}

// ListenConfig describes how a Server is reached. The zero ListenConfig is a free port, TLS and
// HTTP/1.1.
type ListenConfig struct {
	// Address is HOST:PORT on loopback; "" is a free port.
	Address string
	// Plain leaves TLS out.
	Plain bool
	// HTTP2 offers HTTP/2 beside HTTP/1.1; without TLS to clients that know
	// beforehand. A cut is then a stream that is reset, on HTTP/1.1 a connection
	// that breaks.
	HTTP2 bool
}

// Start serves h with TLS and HTTP/1.1 on a loopback address until Close; "" is
// a free port.
func Start(address string, h http.Handler) (*Server, error) {
	return Open(ListenConfig{Address: address}, h)
}

// Open serves h on an address until Close. The certificate is good for the
// loopback and for the providers' host names, lives in memory and for a day.
func Open(d ListenConfig, h http.Handler) (*Server, error) {
	address := cmp.Or(d.Address, "127.0.0.1:0")
	if !loopback(address) {
		return nil, fmt.Errorf("%s: not a loopback address; use 127.0.0.1:PORT", address)
	}
	listener, err := net.Listen("tcp", address) //nolint:noctx // returns at once
	if err != nil {
		return nil, fmt.Errorf("%s: cannot listen there: %w", address, reasonOf(err))
	}
	s := &Server{URL: "http://" + listener.Addr().String(), done: make(chan struct{})}
	s.http = &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, Protocols: listenProtocols(d),
		ErrorLog: log.New(io.Discard, "", 0), // aborts are part of the script
	}
	if d.Plain {
		s.serveUntilClosed(func() error { return s.http.Serve(listener) })
		return s, nil
	}
	cert, ca, err := newCertificate()
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	s.URL, s.CA = "https://"+listener.Addr().String(), ca
	s.http.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.serveUntilClosed(func() error { return s.http.ServeTLS(listener, "", "") })
	return s, nil
}

// reasonOf is what went wrong, without the address, which the caller names.
func reasonOf(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		return op.Err
	}
	return err
}

func listenProtocols(d ListenConfig) *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetHTTP2(d.HTTP2 && !d.Plain)
	p.SetUnencryptedHTTP2(d.HTTP2 && d.Plain)
	return p
}

func (s *Server) serveUntilClosed(serve func() error) {
	go func() {
		defer close(s.done)
		_ = serve() // ErrServerClosed, always
	}()
}

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// Close breaks open connections and returns when the server has ended.
func (s *Server) Close() {
	_ = s.http.Close()
	<-s.done
}

func newCertificate() (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	now, names := time.Now(), []string{"localhost"}
	for w := range simulatedWires {
		names = append(names, w.Host)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "simulator"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		DNSNames:    names,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, ca, nil
}

// openToBrowsers answers the question that a browser asks before a request to another origin.
func openToBrowsers(h http.Header, to route) {
	h.Set(Mark, markSimulated)
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", strings.Join(to.op.Methods(), ", "))
	h.Set("Access-Control-Allow-Headers", "*")
}
