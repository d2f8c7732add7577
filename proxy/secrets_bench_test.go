package proxy_test

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// BenchmarkSecrets records requests of 1 MB in which so many secrets stand in positions of
// credentials, in turns with requests of the same length that hold none. No two secrets are
// the same, so the last request is redacted when all of those before it are known, too.
func BenchmarkSecrets(b *testing.B) {
	const rounds, requests = 3, 8
	counts := []int{0, 1, 100, 1000}
	for b.Loop() {
		best := map[int]time.Duration{}
		for range rounds {
			for _, count := range counts {
				took := recordSecrets(b, requests, count)
				if best[count] == 0 || took < best[count] {
					best[count] = took
				}
			}
		}
		for _, count := range counts {
			b.ReportMetric(requests/best[count].Seconds(), fmt.Sprintf("MB/s-%d", count))
			b.ReportMetric(best[count].Seconds()/best[0].Seconds(), fmt.Sprintf("x-none-%d", count))
		}
	}
}

// recordSecrets returns the processor time of so many requests, all of client, server and
// recorder.
func recordSecrets(b *testing.B, requests, count int) time.Duration {
	b.Helper()
	upstream := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{}`)
	}))
	defer upstream.Close()
	roots := x509.NewCertPool()
	roots.AddCert(upstream.Certificate())
	way := ours(b, "recording", upstream.URL, roots)
	bodies := make([]string, requests)
	for i := range bodies {
		bodies[i] = bodyWithSecrets(count)
	}
	began := cpuTime()
	for _, body := range bodies {
		resp, err := way.client.Post(way.url, "application/json", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	way.saved(requests)
	return max(cpuTime()-began, time.Microsecond)
}

// bodyWithSecrets returns 1 MB of a conversation and of servers with tokens.
func bodyWithSecrets(count int) string {
	var servers strings.Builder
	for range count {
		secret := make([]byte, 30)
		_, _ = rand.Read(secret)
		fmt.Fprintf(&servers, `{"name":"x","authorization_token":"%s"},`, base64.RawURLEncoding.EncodeToString(secret))
	}
	const words = "Name three capitals of Europe and a river each. "
	head := `{"model":"claude-sonnet-4-5","mcp_servers":[` + servers.String() +
		`{}],"messages":[{"role":"user","content":"`
	return head + strings.Repeat(words, (1_000_000-len(head))/len(words)) + `"}]}`
}
