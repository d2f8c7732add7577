package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/server"
)

const token = "0123456789abcdef0123456789abcdef"

// TestGuard holds who gets through, and that nothing is read of those who do not.
func TestGuard(t *testing.T) {
	upstream := httptest.NewServer(server.Guard(server.GuardOptions{
		Token: token, Hosts: []string{"rkat.example", "cranes.example."},
	}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	})))
	t.Cleanup(upstream.Close)
	host := strings.TrimPrefix(upstream.URL, "http://")
	large := strings.Repeat("x", server.MaxMessage+1)
	for _, c := range []struct {
		name    string
		headers []string
		body    string
		want    int
	}{
		{"a program with the token", nil, "hi", 200},
		{"the scheme in another case", []string{"Authorization", "bearer " + token}, "hi", 200},
		{"without a token", []string{"Authorization", ""}, "hi", 401},
		{"another token", []string{"Authorization", "Bearer 0123456789abcdef0123456789abcdee"}, "hi", 401},
		{"the beginning of the token", []string{"Authorization", "Bearer 0123456789abcdef"}, "hi", 401},
		{"another scheme", []string{"Authorization", "Basic " + token}, "hi", 401},
		{"a page of another site", []string{"Origin", "http://evil.example"}, "hi", 403},
		{"a page of another port", []string{"Origin", "http://127.0.0.1:1"}, "hi", 403},
		{"a page without an origin", []string{"Origin", "null"}, "hi", 403},
		{"a page that sends no origin", []string{"Sec-Fetch-Site", "cross-site"}, "hi", 403},
		{"a page of its own", []string{"Origin", "http://" + host}, "hi", 200},
		{"another host", []string{"Host", "evil.example"}, "hi", 403},
		{"another host with the port", []string{"Host", "127.0.0.1.evil.example:80"}, "hi", 403},
		{"another host and its origin", []string{"Host", "evil.example", "Origin", "http://evil.example"}, "hi", 403},
		{"the host of a setting", []string{"Host", "RKAT.example.:443"}, "hi", 200},
		{"the host of a setting with its last dot", []string{"Host", "cranes.example"}, "hi", 200},
		{"localhost", []string{"Host", "LocalHost:1"}, "hi", 200},
		{"the address of IPv6", []string{"Host", "[::1]"}, "hi", 200},
		{"a body that is compressed", []string{"Content-Encoding", "gzip"}, "hi", 415},
		{"a body that is not compressed", []string{"Content-Encoding", "Identity"}, "hi", 200},
		{"too much", nil, large, 413},
		{"as much as is allowed", nil, large[1:], 200},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, upstream.URL, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		for i := 0; i < len(c.headers); i += 2 {
			r.Header.Set(c.headers[i], c.headers[i+1])
			if c.headers[i] == "Host" {
				r.Host = c.headers[i+1]
			}
		}
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		text, _ := io.ReadAll(reply.Body)
		_ = reply.Body.Close()
		if reply.StatusCode != c.want || c.want == 200 && len(text) != len(c.body) {
			t.Errorf("%s: status %d and %d bytes; want %d", c.name, reply.StatusCode, len(text), c.want)
		}
		if strings.Contains(string(text), token) {
			t.Errorf("%s: the reply holds the token", c.name)
		}
	}
}

func TestCheckToken(t *testing.T) {
	for text, ok := range map[string]bool{
		token: true, "short": false, "": false, "0123456789abcde\n": false, "0123456789 abcdef": false,
		"0123456789abcdeé": false,
	} {
		if err := server.CheckToken(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestListen holds that only a loopback address is taken without being asked for.
func TestListen(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "0.0.0.0:0": false, ":0": false, "example.com:0": false,
		"nowhere": false,
	} {
		l, err := server.Listen(t.Context(), address, false, 4)
		if (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
		if err == nil {
			_ = l.Close()
		}
	}
	l, err := server.Listen(t.Context(), "0.0.0.0:0", true, 4)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}
