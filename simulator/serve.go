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
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"time"
)

// Server is a handler behind TLS on loopback.
type Server struct {
	// URL is https://HOST:PORT.
	URL string
	// CA is the PEM certificate that clients must trust.
	CA   []byte
	http *http.Server
	done chan struct{}
}

// Start serves h on a loopback address until Close; "" is a free port. The
// certificate is good for the loopback and for
// the providers' host names, lives in memory and for a day. HTTP/1.1 only: a
// cut is then a connection that breaks.
func Start(address string, h http.Handler) (*Server, error) {
	if address = cmp.Or(address, "127.0.0.1:0"); !loopback(address) {
		return nil, fmt.Errorf("%s: not a loopback address; use 127.0.0.1:PORT", address)
	}
	cert, ca, err := certificate()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address) //nolint:noctx // returns at once
	if err != nil {
		return nil, fmt.Errorf("%s: cannot listen there: %w", address, err)
	}
	s := &Server{URL: "https://" + listener.Addr().String(), CA: ca, done: make(chan struct{})}
	s.http = &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"http/1.1"}},
		ErrorLog:  log.New(io.Discard, "", 0), // aborts are part of the script
	}
	s.http.Protocols = new(http.Protocols)
	s.http.Protocols.SetHTTP1(true)
	go func() {
		defer close(s.done)
		_ = s.http.ServeTLS(listener, "", "") // ErrServerClosed, always
	}()
	return s, nil
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

func certificate() (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "scripted upstream"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		DNSNames:    []string{"localhost", "api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com"},
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
