package cli

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestUnaskedBytesAreNotLogged: what a server sends behind a reply, such as the key of the
// request, reaches nobody; other entries do.
func TestUnaskedBytesAreNotLogged(t *testing.T) {
	var out bytes.Buffer
	defer log.SetOutput(log.Writer())
	log.SetOutput(logFilter{&out})
	closed := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(closed)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\nyou sent secret-key")
		_, _ = io.Copy(io.Discard, conn) // the client has logged it before it closes
		_ = conn.Close()
	}))
	defer s.Close()
	resp, err := s.Client().Get(s.URL) //nolint:noctx // it is answered at once
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	<-closed
	log.Print("another entry")
	if got := out.String(); strings.Contains(got, "secret-key") || !strings.Contains(got, "another entry") {
		t.Error(got)
	}
}
