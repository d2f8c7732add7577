package inspector_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/inspector"
	"github.com/meerkat-go/conformance/conform/report"
)

// startPages starts a server with one feed and returns the address of its page.
func startPages(t *testing.T, feed *inspector.Feed) string {
	t.Helper()
	web := httptest.NewUnstartedServer(nil)
	pages := inspector.NewServer(web.Listener.Addr().String(), []inspector.NamedFeed{{Name: "run", Feed: feed}})
	web.Config.Handler = pages
	web.Start()
	t.Cleanup(web.CloseClientConnections)
	return pages.URL()
}

func newFeed() *inspector.Feed {
	return inspector.NewFeed(inspector.NewBuilder(inspector.Options{}),
		inspector.Head{Kind: "run", Subject: report.Subject{Name: "an agent"}})
}

func TestFeedSendsWhatIsAdded(t *testing.T) {
	feed := newFeed()
	feed.Add(inspector.Observation{Name: "one"})
	address := startPages(t, feed)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, address+"events?after=1", nil)
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	events := bufio.NewScanner(reply.Body)
	next := func() (event string) {
		for events.Scan() {
			if line := events.Text(); line != "" {
				event += line + "\n"
				continue
			}
			return event
		}
		return event
	}
	if hello := next(); !strings.HasPrefix(hello, "event: hello") {
		t.Fatalf("first came %q", hello)
	}
	feed.Add(inspector.Observation{Name: "two"})
	if got := next(); !strings.Contains(got, "event: case\nid: 2\n") || !strings.Contains(got, `"name":"two"`) {
		t.Errorf("then came %q", got)
	}
	feed.Finish(inspector.Head{Kind: "run", Summary: &report.Summary{Verdict: report.Fail}}, nil, nil)
	if got := next(); !strings.Contains(got, "event: end") || !strings.Contains(got, `"verdict":"fail"`) {
		t.Errorf("at the end came %q", got)
	}
}

// TestSlowBrowserKeepsNobodyWaiting adds many cases while a browser reads nothing.
func TestSlowBrowserKeepsNobodyWaiting(t *testing.T) {
	feed := newFeed()
	address := startPages(t, feed)
	reply, err := http.Get(address + "events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	long := strings.Repeat("x", 1<<16)
	for range 400 {
		feed.Add(inspector.Observation{Name: "one", Deviations: []string{long}})
	}
	if n := len(feed.Page().Cases); n != 1 {
		t.Errorf("%d cases", n)
	}
	behind, err := http.Get(address + "events?after=1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = behind.Body.Close() }()
	if text, _ := io.ReadAll(behind.Body); !strings.Contains(string(text), "event: reload") {
		t.Error("a browser that is far behind is not told to load the page again")
	}
}

func TestServerAdmitsOnlyItsOwnPages(t *testing.T) {
	address := startPages(t, newFeed())
	at, _ := url.Parse(address)
	for _, c := range []struct {
		name   string
		change func(r *http.Request)
		status int
	}{
		{"the page", func(*http.Request) {}, http.StatusOK},
		{"localhost", func(r *http.Request) { r.Host = "localhost:" + at.Port() }, http.StatusOK},
		{"its own origin", func(r *http.Request) { r.Header.Set("Origin", "http://"+at.Host) }, http.StatusOK},
		{"no secret", func(r *http.Request) { r.URL.Path = "/" }, http.StatusNotFound},
		{"another secret", func(r *http.Request) { r.URL.Path = "/guess/" }, http.StatusNotFound},
		{"another host name", func(r *http.Request) { r.Host = "rebound.example:" + at.Port() }, http.StatusForbidden},
		{"another port", func(r *http.Request) { r.Host = "127.0.0.1:1" }, http.StatusForbidden},
		{"another origin", func(r *http.Request) { r.Header.Set("Origin", "https://example.org") },
			http.StatusForbidden},
		{"a null origin", func(r *http.Request) { r.Header.Set("Origin", "null") }, http.StatusForbidden},
		{"a page of another site", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
			http.StatusForbidden},
		{"a write", func(r *http.Request) { r.Method = http.MethodPost }, http.StatusMethodNotAllowed},
		{"another path", func(r *http.Request) { r.URL.Path += "../etc" }, http.StatusNotFound},
	} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		c.change(r)
		reply, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		_ = reply.Body.Close()
		if reply.StatusCode != c.status {
			t.Errorf("%s: status %d, not %d", c.name, reply.StatusCode, c.status)
		}
		if reply.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: the reply admits other origins", c.name)
		}
	}
}

func TestServerBoundsItsFollowers(t *testing.T) {
	address := startPages(t, newFeed())
	for i := range 17 {
		reply, err := http.Get(address + "events")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = reply.Body.Close() }()
		if isRefused := reply.StatusCode == http.StatusServiceUnavailable; isRefused != (i == 16) {
			t.Errorf("follower %d: status %d", i, reply.StatusCode)
		}
	}
}
