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
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/conform/subject/acp"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
)

// An agent is broken on purpose, in ways in which real agents are broken. The
// requirement that forbids it must fail, with every source.
var _ = Describe("The referee notices an agent that", Label("suites"), func() {
	DescribeTableSubtree("in one run", func(filter, requirement string, edit editRequest, setExit func(int) int) {
		for _, source := range sources() {
			if source == evidence.SourceLive {
				continue // these entries are of scripted cases
			}
			It("answered by the "+string(source), func(ctx SpecContext) {
				subject := editedSubject{rkat: harness.Executable(shared.Rkat, "", acp.InProcess), edit: edit,
					setExit: setExit, dir: GinkgoT().TempDir()}
				o, err := harness.Run(ctx, harness.Options{Config: harness.Config{Subject: subject}, Filter: filter,
					Sources: []evidence.Source{source}})
				Expect(err).NotTo(HaveOccurred())
				Expect(o.Results).NotTo(ContainElement(HaveField("Verdict", report.HarnessError)))
				run := report.NewRun(report.Run{Set: report.NewSet("", o.Requirements), Expected: o.Expected,
					Policy: report.Policy{Strict: true}}, o.Results)
				if requirement == "" {
					Expect(run.Results).To(Hold())
					Expect(run.Summary.Exit).To(Equal(report.ExitOK))
					return
				}
				Expect(run.Results).To(FailBy(requirement))
				Expect(run.Summary.Exit).To(Equal(report.ExitFailure))
			})
		}
	},
		Entry("has no defect, by finding nothing", "thinking-tool-loop && anthropic", "", noEdit, keepExit),
		Entry("drops thinking", "thinking-tool-loop && anthropic", "SIG-002",
			replaceAll(`\{"type":"thinking","thinking":"[^"]*","signature":"[^"]*"\},`, ""), keepExit),
		Entry("trims a signature", "thinking-tool-loop && anthropic", "SIG-001",
			replaceAll(`"signature":"([^"]*)[^"]{4}"`, `"signature":"$1"`), keepExit),
		Entry("edits a thought", "thinking-tool-loop && anthropic", "SIG-001",
			replaceAll(`The user wants`, `The user wanted`), keepExit),
		Entry("drops redacted thinking", "withheld-thoughts && anthropic", "SIG-002",
			replaceAll(`\{"type":"redacted_thinking","data":"[^"]*"\},`, ""), keepExit),
		Entry("drops reasoning", "thinking-tool-loop && openai", "SIG-008",
			replaceAll(`\{"id":"rs_[^{}]*"summary":\[[^\]]*\]\},`, ""), keepExit),
		Entry("trims encrypted content", "thinking-tool-loop && openai", "SIG-007",
			replaceAll(`"encrypted_content":"([^"]*)[^"]{4}"`, `"encrypted_content":"$1"`), keepExit),
		Entry("drops a thought signature", "thinking-tool-loop && gemini", "SIG-014",
			replaceAll(`,\s*"thoughtSignature":\s*"[^"]*"`, ""), keepExit),
		Entry("rewrites arguments", "exact-arguments && openai", "ORD-011",
			replaceAll(`12345678901234567890`, `12345678901234567000`), keepExit),
		Entry("loses a result", "parallel-calls && anthropic", "ORD-001",
			replaceAll(`,\{"type":"tool_result"[^{}]*\}\]`, "]"), keepExit),
		Entry("asks another model", "thinking-tool-loop && openai", "MOD-001",
			replaceAll(`"model":"gpt-5.2"`, `"model":"gpt-4o"`), keepExit),
		Entry("changes the system prompt on resume", "resume-tool-loop && anthropic", "RES-002",
			onResume(replaceAll("careful test subject", "careful subject")), keepExit),
		Entry("sends a refused effort again", "refused-effort && openai", "ERR-002",
			replaceAll(`"effort":"medium"`, `"effort":"xhigh"`), keepExit),
		Entry("calls a cut stream a success", "cut-stream && gemini", "STR-008", noEdit, func(int) int { return 0 }),
	)
})

// editRequest changes the body of a request.
type editRequest func(resumed bool, body []byte) []byte

func noEdit(_ bool, body []byte) []byte { return body }

func keepExit(code int) int { return code }

// replaceAll edits every request by a regular expression.
func replaceAll(expression, with string) editRequest {
	re := regexp.MustCompile(expression)
	return func(_ bool, body []byte) []byte { return re.ReplaceAll(body, []byte(with)) }
}

// onResume edits the requests of resumed sessions only.
func onResume(edit editRequest) editRequest {
	return func(resumed bool, body []byte) []byte {
		if resumed {
			return edit(resumed, body)
		}
		return body
	}
}

// editedSubject is rkat with a defect: its requests pass through a proxy of its
// own that edits them, and its exit code through setExit.
type editedSubject struct {
	rkat    harness.Subject
	edit    editRequest
	setExit func(code int) int
	dir     string
}

// About is that of rkat.
func (s editedSubject) About() harness.About { return s.rkat.About() }

// editedSession is rkat behind its editing proxy.
type editedSession struct {
	harness.Session
	editor  *proxy.Proxy
	setExit func(code int) int
	resumed atomic.Bool
}

// RunStep runs rkat, whose requests the editor changes.
func (s *editedSession) RunStep(ctx context.Context, step harness.Step) (evidence.Process, error) {
	s.resumed.Store(step.Resume)
	p, err := s.Session.RunStep(ctx, step)
	p.ExitCode = s.setExit(p.ExitCode)
	return p, err
}

// Close ends the editing proxy as well.
func (s *editedSession) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(s.Session.Close(), s.editor.Close(ctx))
}

// Open starts the editing proxy, with rkat behind it.
func (s editedSubject) Open(ctx context.Context, room harness.Room) (harness.Session, error) {
	session := &editedSession{setExit: s.setExit}
	hosts, err := proxy.Hosts(nil)
	if err != nil {
		return nil, err
	}
	authority, err := ca.New(hosts, time.Now())
	if err != nil {
		return nil, err
	}
	transport, err := transportTo(room.Env)
	if err != nil {
		return nil, err
	}
	editor, err := proxy.New(proxy.Config{CA: authority, Handler: &httputil.ReverseProxy{
		FlushInterval: -1, Transport: transport, ErrorLog: log.New(io.Discard, "", 0),
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		Rewrite: func(r *httputil.ProxyRequest) {
			body, _ := io.ReadAll(r.In.Body)
			body = s.edit(session.resumed.Load(), body)
			r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		},
	}})
	if err != nil {
		return nil, err
	}
	if err := editor.Start(); err != nil {
		return nil, err
	}
	session.editor = editor
	trust := filepath.Join(s.dir, "editor.pem")
	if err := os.WriteFile(trust, authority.PEM(), 0o600); err != nil {
		return nil, err
	}
	room.Env = slices.Concat(room.Env,
		[]string{"HTTPS_PROXY=" + editor.URL(), "https_proxy=" + editor.URL(), "SSL_CERT_FILE=" + trust})
	session.Session, err = s.rkat.Open(ctx, room)
	return session, err
}

// transportTo reaches the proxy that the harness has given to the agent.
func transportTo(env []string) (*http.Transport, error) {
	variable := func(name string) string {
		for _, e := range env {
			if k, v, _ := strings.Cut(e, "="); k == name {
				return v
			}
		}
		return ""
	}
	to, err := url.Parse(variable("HTTPS_PROXY"))
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(variable("SSL_CERT_FILE"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("the authority of the harness is no certificate")
	}
	return &http.Transport{Proxy: http.ProxyURL(to), TLSClientConfig: &tls.Config{RootCAs: roots}}, nil
}
