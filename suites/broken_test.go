package suites

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/conform/scenario"
	"github.com/meerkat-go/conformance/internal/app/rkat"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
	"github.com/meerkat-go/conformance/suites/play"
)

// spoiled is rkat with a defect: what it sends passes through a proxy of its
// own that edits every request, and its exit code through lie.
type spoiled struct {
	edit func(step int, body []byte) []byte
	lie  func(code int) int
	dir  string
}

// Run starts the editing proxy and rkat behind it.
func (s spoiled) Run(ctx context.Context, step scenario.Step, session string, env []string) (evidence.Process, string, error) {
	hosts, err := proxy.Hosts(nil)
	if err != nil {
		return evidence.Process{}, "", err
	}
	authority, err := ca.New(hosts, time.Now())
	if err != nil {
		return evidence.Process{}, "", err
	}
	transport, err := outward(env)
	if err != nil {
		return evidence.Process{}, "", err
	}
	defer transport.CloseIdleConnections()
	ordinal := 0
	if step.Resume {
		ordinal = 1
	}
	door, err := proxy.New(proxy.Config{CA: authority, Handler: &httputil.ReverseProxy{
		FlushInterval: -1, Transport: transport, ErrorLog: log.New(io.Discard, "", 0), ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		Rewrite: func(r *httputil.ProxyRequest) {
			body, _ := io.ReadAll(r.In.Body)
			body = s.edit(ordinal, body)
			r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		},
	}})
	if err != nil {
		return evidence.Process{}, "", err
	}
	if err := door.Start(); err != nil {
		return evidence.Process{}, "", err
	}
	defer func() { _ = door.Close(context.WithoutCancel(ctx)) }()
	trust := filepath.Join(s.dir, "editor.pem")
	if err := os.WriteFile(trust, authority.PEM(), 0o600); err != nil {
		return evidence.Process{}, "", err
	}
	env = slices.Concat(env, []string{"HTTPS_PROXY=" + door.URL(), "https_proxy=" + door.URL(), "SSL_CERT_FILE=" + trust})
	p, next, err := play.Rkat{Main: rkat.Run}.Run(ctx, step, session, env)
	p.ExitCode = s.lie(p.ExitCode)
	return p, next, err
}

// outward reaches the proxy that the stage has given to the agent.
func outward(env []string) (*http.Transport, error) {
	value := func(name string) string {
		for _, e := range env {
			if k, v, _ := strings.Cut(e, "="); k == name {
				return v
			}
		}
		return ""
	}
	to, err := url.Parse(value("HTTPS_PROXY"))
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(value("SSL_CERT_FILE"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("the stage's authority is no certificate")
	}
	return &http.Transport{Proxy: http.ProxyURL(to), TLSClientConfig: &tls.Config{RootCAs: roots}}, nil
}

// replace edits every request of a step by a regular expression.
func replace(expression, with string) func(int, []byte) []byte {
	re := regexp.MustCompile(expression)
	return func(_ int, body []byte) []byte { return re.ReplaceAll(body, []byte(with)) }
}

// TestBrokenAgents spoils rkat in ways that real agents are broken in and
// expects the requirement that says so to fail.
func TestBrokenAgents(t *testing.T) {
	honest := func(code int) int { return code }
	for _, c := range []struct {
		name, filter, requirement string
		edit                      func(int, []byte) []byte
		lie                       func(int) int
	}{
		{"nothing", "thinking-tool-loop && anthropic", "", replace(`^\x00`, ""), honest},
		{"drops thinking", "thinking-tool-loop && anthropic", "SIG-002",
			replace(`\{"type":"thinking","thinking":"[^"]*","signature":"[^"]*"\},`, ""), honest},
		{"trims a signature", "thinking-tool-loop && anthropic", "SIG-001", replace(`"signature":"([^"]*)[^"]{4}"`, `"signature":"$1"`), honest},
		{"edits a thought", "thinking-tool-loop && anthropic", "SIG-001", replace(`The user wants`, `The user wanted`), honest},
		{"drops redacted thinking", "withheld-thoughts && anthropic", "SIG-002", replace(`\{"type":"redacted_thinking","data":"[^"]*"\},`, ""), honest},
		{"drops reasoning", "thinking-tool-loop && openai", "SIG-008", replace(`\{"id":"rs_[^{}]*"summary":\[[^\]]*\]\},`, ""), honest},
		{"trims encrypted content", "thinking-tool-loop && openai", "SIG-007", replace(`"encrypted_content":"([^"]*)[^"]{4}"`, `"encrypted_content":"$1"`), honest},
		{"drops a thought signature", "thinking-tool-loop && gemini", "SIG-014", replace(`,\s*"thoughtSignature":\s*"[^"]*"`, ""), honest},
		{"rewrites arguments", "exact-arguments && openai", "ORD-011", replace(`12345678901234567890`, `12345678901234567000`), honest},
		{"loses a result", "parallel-calls && anthropic", "ORD-001", replace(`,\{"type":"tool_result"[^{}]*\}\]`, "]"), honest},
		{"asks another model", "thinking-tool-loop && openai", "MOD-001", replace(`"model":"gpt-5.2"`, `"model":"gpt-4o"`), honest},
		{"changes the system prompt on resume", "resume-tool-loop && anthropic", "RES-002", func(step int, body []byte) []byte {
			if step == 0 {
				return body
			}
			return bytes.Replace(body, []byte("careful test subject"), []byte("careful subject"), 1)
		}, honest},
		{"calls a cut stream a success", "cut-stream && gemini", "STR-008", replace(`^\x00`, ""), func(int) int { return 0 }},
	} {
		for _, source := range []evidence.Source{evidence.SourceCassette, evidence.SourceSimulator} {
			t.Run(c.name+" with the "+string(source), func(t *testing.T) {
				subject := spoiled{edit: c.edit, lie: c.lie, dir: t.TempDir()}
				o, err := Run(t.Context(), Options{Filter: c.filter, Subject: subject, Sources: []evidence.Source{source}})
				if err != nil {
					t.Fatal(err)
				}
				run := report.NewRun(report.Run{Set: report.NewSet("", o.Requirements)}, o.Results)
				failed := map[string]string{}
				for _, r := range run.Results {
					if r.Verdict == report.Fail {
						failed[r.Requirement] = r.Findings[0].Message
					}
					if r.Verdict == report.HarnessError {
						t.Errorf("%s: harness error: %s", r.Check, r.Reason)
					}
				}
				t.Logf("exit %d, failed: %v", run.Summary.Exit, failed)
				switch {
				case c.requirement == "" && run.Summary.Exit != report.ExitOK:
					t.Errorf("an agent without a defect fails: %v", failed)
				case c.requirement != "" && (failed[c.requirement] == "" || run.Summary.Exit != report.ExitFailure):
					t.Errorf("exit %d, %s does not fail; failed: %v", run.Summary.Exit, c.requirement, failed)
				}
			})
		}
	}
}
