package vcr

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ownTest stands for a test that uses a recorder. It notes what that test would say,
// and ends when end is called.
type ownTest struct {
	testing.TB
	mu      sync.Mutex
	errors  []string
	logs    []string
	cleanup []func()
}

func newOwnTest(t *testing.T) *ownTest {
	t.Helper()
	return &ownTest{TB: t}
}

func (o *ownTest) Helper()          {}
func (o *ownTest) Name() string     { return "TestLoop/in parts" }
func (o *ownTest) Failed() bool     { o.mu.Lock(); defer o.mu.Unlock(); return len(o.errors) > 0 }
func (o *ownTest) Cleanup(f func()) { o.cleanup = append(o.cleanup, f) }

func (o *ownTest) Error(args ...any) { o.Errorf("%s", fmt.Sprint(args...)) }

func (o *ownTest) Errorf(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.errors = append(o.errors, fmt.Sprintf(format, args...))
}

func (o *ownTest) Logf(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.logs = append(o.logs, fmt.Sprintf(format, args...))
}

// end ends the test, and returns why it failed.
func (o *ownTest) end() string {
	for i := len(o.cleanup) - 1; i >= 0; i-- {
		o.cleanup[i]()
	}
	return strings.Join(o.errors, "\n")
}

// inMode sets what ForTest looks at.
func inMode(t *testing.T, mode string) {
	t.Helper()
	t.Setenv(modeVariable, mode)
}

// newService starts a service and returns its URL and a transport to it.
func newService(t *testing.T, h http.HandlerFunc) (url string, transport *http.Transport) {
	t.Helper()
	server := httptest.NewServer(h)
	transport = &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	return server.URL, transport
}

// echo answers with the method, and with the body after it.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, _ = fmt.Fprintf(w, "%s %s", r.Method, body)
}

// post returns the reply to a POST.
func post(t *testing.T, transport http.RoundTripper, url, body string) string {
	t.Helper()
	resp, err := (&http.Client{Transport: transport}).Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	reply, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(reply)
}

func mustStop(t *testing.T, r *Recorder) {
	t.Helper()
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
}

func newRecorder(t *testing.T, name string, mode Mode, transport http.RoundTripper) *Recorder {
	t.Helper()
	r, err := NewAsMode(name, mode, transport)
	if err != nil {
		t.Fatal(err)
	}
	r.SkipRequestLatency = true
	return r
}

func tempName(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "sub", "loop")
}

func readAll(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
