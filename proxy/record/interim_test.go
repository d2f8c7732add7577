package record_test

import (
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy/record"
)

// Early Hints reach the client before the reply, by HTTP/1.1 and HTTP/2 from the
// provider, and leave no trace in the reply.
func TestEarlyHintsReachTheClient(t *testing.T) {
	for name, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			hinted := make(chan struct{})
			g := newRig(t, h2, record.Config{}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Link", "</style.css>; rel=preload")
				w.WriteHeader(http.StatusEarlyHints)
				select {
				case <-hinted: // the reply waits until the hint has arrived
				case <-time.After(5 * time.Second):
				}
				w.Header().Del("Link")
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, "{}")
			})
			var got []string
			trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
				got = append(got, http.StatusText(code)+" "+header.Get("Link"))
				close(hinted)
				return nil
			}}
			req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodPost,
				endpoint, strings.NewReader("{}"))
			check(t, err)
			resp, err := g.client.Do(req)
			check(t, err)
			body, err := io.ReadAll(resp.Body)
			check(t, err)
			check(t, resp.Body.Close())
			if want := []string{"Early Hints </style.css>; rel=preload"}; !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			if resp.StatusCode != http.StatusOK || string(body) != "{}" || resp.Header.Get("Link") != "" {
				t.Errorf("%d %q %v", resp.StatusCode, body, resp.Header)
			}
			if in := g.only(); in.Response.Status != http.StatusOK || in.Response.Header.Get("Link") != "" {
				t.Errorf("kept: %+v", in.Response)
			}
		})
	}
}
