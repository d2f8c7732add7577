package ca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The programs that agents are written with: each connects to 127.0.0.1 at a
// port, asks for a host by TLS, trusts one PEM file, and fails when the
// certificate is none for that host.
var programs = map[string]struct {
	name string
	args func(host, port, pem string) []string
}{
	"curl": {"curl", func(host, port, pem string) []string {
		return []string{"-sS", "--noproxy", "*", "--cacert", pem, "--resolve", host + ":" + port + ":127.0.0.1",
			"https://" + host + ":" + port + "/"}
	}},
	"python ssl": {"python3", func(host, port, pem string) []string {
		return []string{"-c", `
import socket, ssl, sys
host, port, pem = sys.argv[1:]
s = ssl.create_default_context(cafile=pem).wrap_socket(socket.create_connection(("127.0.0.1", int(port))), server_hostname=host)
s.sendall(b"GET / HTTP/1.0\r\nHost: " + host.encode() + b"\r\n\r\n")
print(s.makefile().read())`, host, port, pem}
	}},
	"python urllib": {"python3", func(host, port, pem string) []string {
		return []string{"-c", `
import socket, ssl, sys, urllib.request
host, port, pem = sys.argv[1:]
real = socket.getaddrinfo
socket.getaddrinfo = lambda name, *rest, **more: real("127.0.0.1", *rest, **more)
handlers = urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=pem))
print(urllib.request.build_opener(*handlers).open(f"https://{host}:{port}/").read().decode())`, host, port, pem}
	}},
	"node": {"node", func(host, port, pem string) []string {
		return []string{"-e", `
const [host, port, pem] = process.argv.slice(1)
require('https').get({host: '127.0.0.1', port, servername: host, headers: {host}, ca: require('fs').readFileSync(pem)},
  reply => reply.pipe(process.stdout)).on('error', e => { console.error(e.code, e.message); process.exit(1) })`, host, port, pem}
	}},
}

// Every client accepts the authority for a provider's host and refuses what its
// key signed for another, and refuses all once it has expired: a stolen key is
// worth little.
func TestInstalledClients(t *testing.T) {
	const allowed, foreign = "api.anthropic.com", "accounts.google.com"
	fresh, err := New([]string{allowed}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	slow, err := New([]string{allowed}, time.Now().Add(50*time.Minute)) // to a client whose clock is behind
	if err != nil {
		t.Fatal(err)
	}
	expired, err := New([]string{allowed}, time.Now().Add(-lifetime))
	if err != nil {
		t.Fatal(err)
	}
	for name, program := range programs {
		path, err := exec.LookPath(program.name)
		if err != nil {
			t.Logf("%s is not installed: not tested", program.name)
			continue
		}
		for _, c := range []struct {
			what, host string
			by         *Authority
			accepted   bool
		}{
			{"a provider's host", allowed, fresh, true},
			{"the authority's own host", "localhost", fresh, true},
			{"another host", foreign, fresh, false},
			{"a host below a name, as a foreign one", "anthropic.com", fresh, false},
			{"issued by a clock ahead of the client's", allowed, slow, true},
			{"expired", allowed, expired, false},
		} {
			t.Run(name+", "+c.what, func(t *testing.T) {
				t.Parallel()
				port, pem := serveForged(t, c.by, c.host)
				out, err := exec.Command(path, program.args(c.host, port, pem)...).CombinedOutput()
				if got := err == nil && strings.Contains(string(out), "hello"); got != c.accepted {
					t.Errorf("accepted %t, want %t: %v\n%s", got, c.accepted, err, out)
				}
				if !c.accepted && !strings.Contains(strings.ToLower(string(out)), "certificate") &&
					!strings.Contains(string(out), "CERT_") && !strings.Contains(string(out), "permitted subtree") {
					t.Errorf("refused for another reason: %s", out)
				}
			})
		}
	}
}

// serveForged answers on loopback with a leaf for host that a's key signed past
// our own checks, and writes a's certificate to a file.
func serveForged(t *testing.T, a *Authority, host string) (port, pem string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := serialNumber()
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: serial, NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		DNSNames: []string{host},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = io.WriteString(w, "hello")
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: key}}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of refused certificates
	server.StartTLS()
	t.Cleanup(server.Close)
	pem = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(pem, a.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ = net.SplitHostPort(server.Listener.Addr().String())
	return port, pem
}
