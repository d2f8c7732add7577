package ca

import (
	"crypto/ecdsa"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

func TestLeafNamesStandInSANOnly(t *testing.T) {
	a := newAuthority(t, "api.anthropic.com")
	for _, host := range []string{"api.anthropic.com", "127.0.0.1"} {
		leaf, err := a.Leaf(host)
		if err != nil {
			t.Fatal(err)
		}
		if cn := leaf.Leaf.Subject.String(); cn != "" {
			t.Errorf("%s: subject %q, want none", host, cn)
		}
		if len(leaf.Leaf.DNSNames)+len(leaf.Leaf.IPAddresses) != 1 {
			t.Errorf("%s: names %v %v, want one", host, leaf.Leaf.DNSNames, leaf.Leaf.IPAddresses)
		}
		if _, ok := leaf.PrivateKey.(*ecdsa.PrivateKey); !ok {
			t.Errorf("%s: key is %T", host, leaf.PrivateKey)
		}
	}
}

func TestLeafRefusesOtherHosts(t *testing.T) {
	a := newAuthority(t, "api.anthropic.com")
	for _, host := range []string{"example.com", "evil.api.anthropic.com", "10.0.0.1", ""} {
		if _, err := a.Leaf(host); err == nil {
			t.Errorf("%q: signed", host)
		}
	}
}

func TestLeafIsMintedOnce(t *testing.T) {
	a := newAuthority(t, "api.anthropic.com")
	const clients = 100
	got := make([]*tls.Certificate, clients)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() { got[i], _ = a.Leaf("API.anthropic.com") })
	}
	wg.Wait()
	for i := range got {
		if got[i] == nil || got[i] != got[0] {
			t.Fatalf("client %d was given another leaf", i)
		}
	}
}

// tunnel is a connection opened for one host, as the proxy makes them.
type tunnel struct {
	net.Conn
	host string
}

func (t tunnel) Host() string { return t.host }

func handshake(a *Authority, config *tls.Config, connectHost, sni string,
	cache tls.ClientSessionCache) (tls.ConnectionState, error) {
	client, server := net.Pipe()
	defer func() { _ = client.Close() }()
	go func() {
		conn := tls.Server(tunnel{server, connectHost}, config)
		_, _ = conn.Write([]byte("x")) // carries the session ticket
		_ = conn.Close()
	}()
	conn := tls.Client(client, &tls.Config{RootCAs: a.Pool(), ServerName: sni, ClientSessionCache: cache,
		Time: func() time.Time { return issued }})
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		return tls.ConnectionState{}, err
	}
	return conn.ConnectionState(), nil
}

func TestNameInsideTunnelMustAgree(t *testing.T) {
	a := newAuthority(t, "api.anthropic.com", "api.openai.com")
	if _, err := handshake(a, a.TLSConfig(), "api.anthropic.com", "api.openai.com", nil); err == nil {
		t.Error("a tunnel to one host was used for another")
	}
	if _, err := handshake(a, a.TLSConfig(), "127.0.0.1", "127.0.0.1", nil); err != nil {
		t.Errorf("address without a server name: %v", err)
	}
}

// One shared configuration is what lets a client resume (pitfall G10).
func TestSessionsResume(t *testing.T) {
	a := newAuthority(t, "api.anthropic.com")
	cache, config := tls.NewLRUClientSessionCache(1), a.TLSConfig()
	for i, want := range []bool{false, true} {
		state, err := handshake(a, config, "api.anthropic.com", "api.anthropic.com", cache)
		if err != nil {
			t.Fatal(err)
		}
		if state.DidResume != want {
			t.Errorf("connection %d: resumed %t, want %t", i, state.DidResume, want)
		}
	}
}
