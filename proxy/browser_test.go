package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy"
)

// attacks is a page that asks the recorder at %[1]s in each way that a page has, also by a host name that
// leads to this machine, and then says that it is done. Each fetch that could be read is told to its server.
const attacks = `<!doctype html><body><script>
const at = "%[1]s", rebound = at.replace("127.0.0.1", "rebound.example"), path = "/anthropic/v1/messages";
const tell = what => fetch("/read?" + what, {method: "POST"});
const tries = [];
for (const base of [at, rebound]) {
  tries.push(fetch(base + path, {method: "POST", body: "{}"}).then(() => tell("cors"), () => 0));
  tries.push(fetch(base + path, {method: "POST", body: "{}", mode: "no-cors"}).catch(() => 0));
  tries.push(fetch(base + path, {mode: "no-cors"}).catch(() => 0));
  tries.push(fetch(base + path, {method: "POST", body: "{}", headers: {"content-type": "application/json"}}).then(() => tell("json"), () => 0));
  for (const [name, attribute] of [["img", "src"], ["script", "src"], ["iframe", "src"], ["video", "src"], ["object", "data"]])
    tries.push(new Promise(done => {
      const e = document.createElement(name);
      e.onload = e.onerror = done;
      e[attribute] = base + path + "?" + name;
      document.body.append(e);
      setTimeout(done, 3000); // some elements say nothing of an error
    }));
  navigator.sendBeacon(base + path, "{}");
  const form = document.createElement("form"), frame = document.createElement("iframe");
  frame.name = form.target = "f" + tries.length;
  [form.action, form.method] = [base + path, "post"];
  document.body.append(frame, form);
  form.submit();
  tries.push(new Promise(done => { const w = new WebSocket(base.replace("http", "ws") + "/openai/v1/responses"); w.onopen = () => tell("websocket"); w.onerror = done; }));
}
Promise.all(tries).then(() => fetch("/done", {method: "POST"}));
</script>`

// A page in a real browser reaches the port of a recorder, and nothing behind it.
func TestBrowserPagesAreRefused(t *testing.T) {
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && browser == "" {
			browser = path
		}
	}
	if testing.Short() || browser == "" {
		t.Skip("no Chromium here, or -short; install it with: make browser")
	}
	var mu sync.Mutex
	var reached, read []string
	p := start(t, proxy.Config{Ingress: []string{proxy.BaseURL}, WebSocket: func(*http.Request) bool { return true }},
		func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			reached = append(reached, fmt.Sprintf("%s %s %v", r.Method, r.URL, r.Header))
			w.Header().Set("Access-Control-Allow-Origin", "*")
			_, _ = io.WriteString(w, "{}")
		})
	done := make(chan struct{})
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/done":
			close(done)
		case r.URL.Path == "/read":
			mu.Lock()
			defer mu.Unlock()
			read = append(read, r.URL.RawQuery)
		default:
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprintf(w, attacks, p.URL())
		}
	}))
	defer page.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu",
		"--disable-component-update", "--no-first-run",
		"--host-resolver-rules=MAP rebound.example 127.0.0.1", "--user-data-dir="+t.TempDir(),
		"--remote-debugging-port=0", page.URL)
	output := new(strings.Builder)
	cmd.Stderr = output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
	case <-ctx.Done():
		t.Errorf("the page did not end: %s", output)
	}
	cancel()
	_ = cmd.Wait()
	mu.Lock()
	defer mu.Unlock()
	for _, r := range append(reached, read...) {
		t.Errorf("reached or read: %s", r)
	}
	if n := p.Refused() + p.Upgrades(); n < 16 {
		t.Errorf("%d refusals; the page was meant to try at least 16 ways", n)
	}
}
