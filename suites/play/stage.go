// Package play performs plays: it runs the agent under test step by step behind
// the intercepting proxy and brings home what a judge may look at.
package play

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/scenario"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
)

// Subject is an agent under test. Implementations are safe for concurrent use.
type Subject interface {
	// Run performs one step. session is what the step before it returned, ""
	// for the first. env is all the process may know of its surroundings. An
	// error means that the agent could not be run at all.
	Run(ctx context.Context, step scenario.Step, session string, env []string) (p evidence.Process, next string, err error)
}

// Stage is where plays are performed: the agent and the proxy's authority. It
// is safe for concurrent use.
type Stage struct {
	subject   Subject
	authority *ca.Authority
	dir       string
	trust     string // file with the authority's certificate
}

// NewStage makes a stage for subject with an authority that lives as long as
// the stage. Close removes its files.
func NewStage(subject Subject) (*Stage, error) {
	if _, acting := os.LookupEnv(actAs); acting {
		return nil, errors.New("stage: this process was started to act as the agent; its program must call play.ActAs first")
	}
	hosts, err := proxy.Hosts(nil)
	if err != nil {
		return nil, err
	}
	authority, err := ca.New(hosts, time.Now())
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "conform-stage-")
	if err != nil {
		return nil, fmt.Errorf("stage: no temporary directory: %w", err)
	}
	s := &Stage{subject: subject, authority: authority, dir: dir, trust: filepath.Join(dir, "authority.pem")}
	if err := os.WriteFile(s.trust, authority.PEM(), 0o600); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close removes what the stage and its plays left on disk. No play may be
// running.
func (s *Stage) Close() { _ = os.RemoveAll(s.dir) }

// closing bounds how long a play waits for requests that its processes left
// open.
const closing = 5 * time.Second

// Act runs the steps of p in a fresh session directory with wire behind the
// intercepting proxy. before, if not nil, is told the ordinal of each step
// before it starts. It returns the processes that ran; a step that does not
// end as scripted does not keep the next from running.
func (s *Stage) Act(ctx context.Context, p scenario.Play, wire http.Handler, before func(step int)) (_ []evidence.Process, err error) {
	door, err := proxy.New(proxy.Config{CA: s.authority, Handler: wire})
	if err != nil {
		return nil, err
	}
	if err := door.Start(); err != nil {
		return nil, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer cancel()
		_ = door.Close(ctx) // cuts what is still open
	}()
	home, err := os.MkdirTemp(s.dir, "play-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(home) }() // the stage's folder goes as well
	return s.steps(ctx, p, s.surroundings(door.URL(), home), before)
}

func (s *Stage) steps(ctx context.Context, p scenario.Play, env []string, before func(step int)) ([]evidence.Process, error) {
	var done []evidence.Process
	session := ""
	for i, step := range p.Steps() {
		if before != nil {
			before(i)
		}
		process, next, err := s.subject.Run(ctx, step, session, env)
		if err != nil {
			return done, fmt.Errorf("%s: step %d: %w", p.Name(), i, err)
		}
		process.Resumed = step.Resume
		done, session = append(done, process), next
	}
	return done, ctx.Err()
}

// Keys are the made-up keys an agent is given, by the variable it finds them
// in. No provider would accept them.
var Keys = map[string]string{
	"ANTHROPIC_API_KEY": "conform-made-up-key-anthropic",
	"OPENAI_API_KEY":    "conform-made-up-key-openai",
	"GEMINI_API_KEY":    "conform-made-up-key-gemini",
}

// surroundings is the whole environment of an agent: the proxy and whom to
// trust, made-up keys, and directories of its own.
func (s *Stage) surroundings(proxyURL, home string) []string {
	env := []string{
		"HTTPS_PROXY=" + proxyURL, "https_proxy=" + proxyURL, "NO_PROXY=", "no_proxy=",
		"SSL_CERT_FILE=" + s.trust, "NODE_EXTRA_CA_CERTS=" + s.trust, "REQUESTS_CA_BUNDLE=" + s.trust, "CURL_CA_BUNDLE=" + s.trust,
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_DATA_HOME=" + home, "TMPDIR=" + home,
		"RKAT_SESSION_DIR=" + filepath.Join(home, "sessions"), "LANG=C.UTF-8", "TZ=UTC",
		"RKAT_RETRY_MAX_RETRIES=0", // a scenario says how often it wants to be asked
	}
	for name, key := range Keys {
		env = append(env, name+"="+key)
	}
	return env
}
