package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/wires"
)

// probeAnswer is the reply of the doctor's proxy to a client that reaches it.
const probeAnswer = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

// probe is a client that doctor tries: how to run it so that it posts to a URL as its environment
// says, prints the reply, and fails when there is none.
type probe struct {
	client  string
	program string
	version []string
	// prepare makes the program to run, in dir; nil runs program itself.
	prepare func(ctx context.Context, a *app, program, dir string) (string, error)
	args    func(url string) []string
}

var probes = []probe{
	{client: "curl", program: "curl", version: []string{"--version"}, args: func(url string) []string {
		return []string{"-sSf", "--max-time", "20", "-d", "{}", url}
	}},
	{client: "go", program: "go", version: []string{"version"}, prepare: buildProbe,
		args: func(url string) []string { return []string{url} }},
	{client: "node", program: "node", version: []string{"--version"}, args: func(url string) []string {
		return []string{"-e", `fetch(process.argv[1], {method: "POST", body: "{}", signal: AbortSignal.timeout(20000)})
  .then(r => r.ok ? r.text() : Promise.reject(new Error("status " + r.status))).then(t => process.stdout.write(t))
  .catch(e => { console.error(String(e.cause ?? e).split("\n")[0]); process.exit(1) })`, url}
	}},
	{client: "python", program: "python3", version: []string{"--version"}, args: func(url string) []string {
		return []string{"-c", `import sys, urllib.request
try: sys.stdout.write(urllib.request.urlopen(sys.argv[1], b"{}", timeout=20).read().decode())
except Exception as e: sys.exit(str(e))`, url}
	}},
}

const goProbe = `package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	client := http.Client{Timeout: 20 * time.Second}
	resp, err := client.Post(os.Args[1], "application/json", strings.NewReader("{}"))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	if err == nil {
		_, err = io.Copy(os.Stdout, resp.Body)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
`

// buildProbe builds the Go client. It finds its roots and proxies by net/http, as agents written
// in Go do.
func buildProbe(ctx context.Context, a *app, program, dir string) (string, error) {
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "probe.exe")
	if err := os.WriteFile(source, []byte(goProbe), 0o600); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, program, "build", "-o", binary, source) //nolint:gosec // the user's own Go
	cmd.Dir, cmd.Env = dir, Overlay(a.Environ,
		[]string{"GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=local", "GO111MODULE=off"})
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build a program: %s", lastLine(out))
	}
	return binary, nil
}

// trialProxy is a proxy that answers everything itself and notes what it saw.
type trialProxy struct {
	proxy *proxy.Proxy
	trust string
	reply http.HandlerFunc
	mu    sync.Mutex
	trial trial
}

// startTrialProxy starts a proxy with the given ingresses.
func (a *app) startTrialProxy(ingresses, allow []string, reply http.HandlerFunc) (*trialProxy, error) {
	authority, err := a.Authority(allow)
	if err != nil {
		return nil, err
	}
	trust, err := a.TrustFiles(authority, time.Now())
	if err != nil {
		return nil, err
	}
	s := &trialProxy{trust: trust, reply: reply}
	s.proxy, err = proxy.New(proxy.Config{CA: authority, Ingress: ingresses, AllowHosts: allow, AllowFlag: allowFlag,
		Handler: s, Notice: s.addNotice})
	if err == nil {
		err = s.proxy.Start()
	}
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	return s, nil
}

// ServeHTTP notes that a request came through, and answers it.
func (s *trialProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	ingress := proxy.BaseURL
	if r.TLS != nil {
		ingress = proxy.MITM
	}
	s.mu.Lock()
	s.trial.arrivals = append(s.trial.arrivals, arrival{ingress, r.Proto, "https://" + r.URL.Host + r.URL.Path})
	s.mu.Unlock()
	s.reply(w, r)
}

func answerProbe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, probeAnswer)
}

func (s *trialProxy) addNotice(n proxy.Notice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trial.notices = append(s.trial.notices, n)
}

// closeAndReport closes the proxy and returns what was noted.
func (s *trialProxy) closeAndReport(ctx context.Context) trial {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = s.proxy.Close(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trial
}

// probeClient runs a client through every ingress.
func (a *app) probeClient(ctx context.Context, p probe) []clientCheck {
	program, err := exec.LookPath(p.program)
	if err != nil {
		return []clientCheck{{Client: p.client, Result: checkAbsent, Cause: p.program + " is not installed"}}
	}
	version := a.versionOf(ctx, program, p.version)
	dir, err := os.MkdirTemp("", "recorder-doctor-*")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
	}
	if err == nil && p.prepare != nil {
		program, err = p.prepare(ctx, a, program, dir)
	}
	if err != nil {
		return []clientCheck{{Client: p.client, Version: version, Result: checkFail, Cause: err.Error()}}
	}
	var checks []clientCheck
	for _, ingress := range []string{proxy.MITM, proxy.BaseURL} {
		t, err := a.runProbe(ctx, p, program, ingress)
		if err != nil {
			t.exit = err.Error()
		}
		checks = append(checks, verdictOf(p.client, version, ingress, t))
	}
	return checks
}

// runProbe runs a client through one ingress.
func (a *app) runProbe(ctx context.Context, p probe, program, ingress string) (trial, error) {
	s, err := a.startTrialProxy([]string{ingress}, nil, answerProbe)
	if err != nil {
		return trial{}, err
	}
	w := wires.All()[0] // any wire will do
	url := w.URL("", false)
	if ingress == proxy.BaseURL {
		url = strings.Replace(url, "https://"+w.Host, s.proxy.URLFor(proxy.BaseURL, "")+"/"+w.Name, 1)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, p.args(url)...) //nolint:gosec // one of the clients above
	cmd.Env = Overlay(a.Environ, ClientVariables(s.proxy, s.trust, []string{ingress}))
	if ingress == proxy.BaseURL { // nothing may lead to the real host by accident
		cmd.Env = Overlay(cmd.Env, []string{"NO_PROXY=*", "no_proxy=*"})
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errs, time.Second
	err = cmd.Run()
	t := s.closeAndReport(ctx)
	t.said = lastLine(errs.Bytes())
	switch exit := (*exec.ExitError)(nil); {
	case errors.As(err, &exit):
		t.exit = exit.String()
	case err != nil:
		t.exit = err.Error()
	case out.String() != probeAnswer:
		t.exit = "the reply arrived changed"
	}
	return t, nil
}

// versionOf returns the version number in the first line of what a program prints with args.
func (a *app) versionOf(ctx context.Context, program string, args []string) string {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // one of the clients above
	cmd.Env = a.Environ
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	for word := range strings.FieldsSeq(line) {
		if strings.ContainsAny(word, "0123456789") && strings.Contains(word, ".") {
			return strings.TrimPrefix(word, "go")
		}
	}
	return ""
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
