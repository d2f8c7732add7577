package ca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"math/big"
	"net"
	"slices"
	"testing"
	"time"
)

var issued = time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC)

func newAuthority(t *testing.T, hosts ...string) *Authority {
	t.Helper()
	a, err := New(hosts, issued)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAuthorityIsConstrained(t *testing.T) {
	a := newAuthority(t, "api.openai.com", "API.anthropic.com", "10.1.2.3", "api.openai.com")
	cert := a.Certificate()
	if got := cert.NotAfter.Sub(cert.NotBefore); got > 30*24*time.Hour {
		t.Errorf("valid for %v, more than thirty days", got)
	}
	if !cert.IsCA || !cert.MaxPathLenZero || cert.MaxPathLen != 0 {
		t.Error("may sign further authorities")
	}
	if !slices.Equal(cert.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}) {
		t.Errorf("key usages: %v", cert.ExtKeyUsage)
	}
	if !cert.PermittedDNSDomainsCritical {
		t.Error("a client may ignore the constraints")
	}
	if want := []string{"api.anthropic.com", "api.openai.com", "localhost"}; !slices.Equal(a.Hosts(), want) {
		t.Errorf("names %v, want %v", a.Hosts(), want)
	}
	var ranges []string
	for _, r := range cert.PermittedIPRanges {
		ranges = append(ranges, r.String())
	}
	if want := []string{"10.1.2.3/32", "127.0.0.0/8", "::1/128"}; !slices.Equal(ranges, want) {
		t.Errorf("ranges %v, want %v", ranges, want)
	}
	if key, ok := cert.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		t.Errorf("key is %T, want ECDSA P-256", cert.PublicKey)
	}
}

// A stolen key must not be able to sign for other hosts: the leaves here are
// forged past every check of ours.
func TestClientsRefuseForgedLeaves(t *testing.T) {
	a := newAuthority(t, "api.anthropic.com")
	for _, c := range []struct {
		host string
		want bool
	}{
		{"api.anthropic.com", true},
		{"localhost", true},
		{"127.0.0.1", true},
		{"example.com", false},
		{"api.openai.com", false},
		{"anthropic.com", false},
		{"10.0.0.1", false},
		{"::2", false},
	} {
		_, err := forge(t, a, c.host).Verify(x509.VerifyOptions{Roots: a.Pool(), DNSName: bracket(c.host),
			CurrentTime: issued})
		if (err == nil) != c.want {
			t.Errorf("%s: accepted %t, want %t (%v)", c.host, err == nil, c.want, err)
		}
	}
}

func bracket(host string) string {
	if ip := net.ParseIP(host); ip != nil {
		return "[" + host + "]"
	}
	return host
}

func forge(t *testing.T, a *Authority, host string) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

func TestAuthorityExpires(t *testing.T) {
	a := newAuthority(t, "api.anthropic.com")
	leaf, err := a.Leaf("api.anthropic.com")
	if err != nil {
		t.Fatal(err)
	}
	if leaf.Leaf.NotAfter.After(a.cert.NotAfter) {
		t.Error("a leaf outlives its authority")
	}
	later := issued.Add(31 * 24 * time.Hour)
	if _, err := leaf.Leaf.Verify(x509.VerifyOptions{Roots: a.Pool(), DNSName: "api.anthropic.com",
		CurrentTime: later}); err == nil {
		t.Error("still accepted after thirty days")
	}
}
