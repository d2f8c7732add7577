package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/meerkat-go/conformance/cassettes"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
)

// Runner runs cases: it holds the agent, the proxy's certificate authority and
// the cassettes. It is safe for concurrent use. Close it when no case runs.
type Runner struct {
	subject   Subject
	cassettes fs.FS
	authority *ca.Authority
	dir       string
	trustFile string // holds the certificate of the authority
}

// NewRunner makes a runner for subject with a certificate authority of its own.
// recordings holds the cassettes by the paths of [Case.CassettePath]; nil means
// the committed ones.
func NewRunner(subject Subject, recordings fs.FS) (*Runner, error) {
	if _, started := os.LookupEnv(runAsVariable); started {
		return nil, errors.New("runner: this process was started as the agent under test; its program must call harness.RunIfSubject first")
	}
	if recordings == nil {
		recordings = cassettes.FS
	}
	hosts, err := proxy.Hosts(nil)
	if err != nil {
		return nil, err
	}
	authority, err := ca.New(hosts, time.Now())
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "conform-run-")
	if err != nil {
		return nil, fmt.Errorf("runner: no temporary directory: %w", err)
	}
	r := &Runner{subject: subject, cassettes: recordings, authority: authority, dir: dir, trustFile: filepath.Join(dir, "authority.pem")}
	if err := os.WriteFile(r.trustFile, authority.PEM(), 0o600); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Close removes what the runner and its cases left on disk. No case may be
// running.
func (r *Runner) Close() { _ = os.RemoveAll(r.dir) }

// closeTimeout bounds how long a case waits for requests that its processes left
// open.
const closeTimeout = 5 * time.Second

// runSteps runs the steps of c in a fresh home folder with upstream behind the
// intercepting proxy. beforeStep, if not nil, gets the ordinal of each step
// before it starts. It returns the processes that ran; a step that does not end
// as scripted does not keep the next one from running.
func (r *Runner) runSteps(ctx context.Context, c Case, upstream http.Handler, beforeStep func(step int)) (_ []evidence.Process, err error) {
	ingress, err := proxy.New(proxy.Config{CA: r.authority, Handler: upstream})
	if err != nil {
		return nil, err
	}
	if err := ingress.Start(); err != nil {
		return nil, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = ingress.Close(ctx) // cuts what is still open
	}()
	home, err := os.MkdirTemp(r.dir, "case-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(home) }() // Close removes the runner's folder as well
	env := r.environment(ingress.URL(), home)
	var processes []evidence.Process
	session := ""
	for i, step := range c.Steps() {
		if beforeStep != nil {
			beforeStep(i)
		}
		process, next, err := r.subject.RunStep(ctx, step, session, env)
		if err != nil {
			return processes, fmt.Errorf("%s: step %d: %w", c.Name(), i, err)
		}
		process.Resumed = step.Resume
		processes, session = append(processes, process), next
	}
	return processes, ctx.Err()
}

// fakeKeys are the made-up keys that an agent gets, by the variable it finds them
// in. No provider would accept them.
var fakeKeys = map[string]string{
	"ANTHROPIC_API_KEY": "conform-made-up-key-anthropic",
	"OPENAI_API_KEY":    "conform-made-up-key-openai",
	"GEMINI_API_KEY":    "conform-made-up-key-gemini",
}

// environment is the whole environment of an agent: the proxy and the authority
// to trust, made-up keys, and folders of its own.
func (r *Runner) environment(proxyURL, home string) []string {
	env := []string{
		"HTTPS_PROXY=" + proxyURL, "https_proxy=" + proxyURL, "NO_PROXY=", "no_proxy=",
		"SSL_CERT_FILE=" + r.trustFile, "NODE_EXTRA_CA_CERTS=" + r.trustFile, "REQUESTS_CA_BUNDLE=" + r.trustFile, "CURL_CA_BUNDLE=" + r.trustFile,
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_DATA_HOME=" + home, "TMPDIR=" + home,
		"RKAT_SESSION_DIR=" + filepath.Join(home, "sessions"), "LANG=C.UTF-8", "TZ=UTC",
		"RKAT_RETRY_MAX_RETRIES=0", // the scenario decides how often the provider is asked
	}
	for name, key := range fakeKeys {
		env = append(env, name+"="+key)
	}
	return env
}
