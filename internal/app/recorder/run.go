package recorder

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/proxy"
)

func (a *app) recordCommand() *cobra.Command {
	f := &flags{mode: modeRecord}
	cmd := &cobra.Command{
		Use: "record --cassette F", Short: "Record the traffic of programs that are pointed at the proxy, until interrupted",
		Args: noArguments, RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), f) },
	}
	f.add(cmd)
	return cmd
}

func (a *app) replayCommand() *cobra.Command {
	f := &flags{mode: modeReplay}
	cmd := &cobra.Command{
		Use: "replay --cassette F", Short: "Answer programs that are pointed at the proxy from a cassette, until interrupted",
		Args: noArguments, RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), f) },
	}
	f.add(cmd)
	return cmd
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s: unexpected; %s takes flags only", args[0], cmd.Name())
	}
	return nil
}

// serve runs a session until ctx ends. What clients need to be given goes to
// stdout, one KEY=VALUE a line.
func (a *app) serve(ctx context.Context, f *flags) error {
	s, err := a.open(ctx, f)
	if err != nil {
		return err
	}
	for _, kv := range s.settings(f.doors) {
		fmt.Fprintln(a.stdout, kv)
	}
	a.say("%s: %sing at %s; interrupt to finish", f.cassette, strings.TrimSuffix(f.mode, "e"), s.proxy.URL())
	<-ctx.Done()
	return code(s.close(ctx))
}

func (a *app) runCommand() *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use: "run --cassette F [--mode record|replay] -- CMD…", Short: "Run a program with its provider traffic recorded or replayed",
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd.Context(), f, args) },
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.mode, "mode", modeRecord, "record or replay")
	cmd.Flags().SetInterspersed(false) // what follows CMD is CMD's
	return cmd
}

func (a *app) run(ctx context.Context, f *flags, args []string) error {
	if len(args) == 0 {
		return usage("run: no program; put it behind two dashes: recorder run --cassette F -- CMD")
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return usage("%s: not a program that can be run: %w", args[0], lookReason(err))
	}
	s, err := a.open(ctx, f)
	if err != nil {
		return err
	}
	child := a.child(ctx, s, f, path, args)
	if err := child.Start(); err != nil {
		s.abandon(ctx)
		return usage("%s: cannot be started: %w", args[0], reason(err))
	}
	_ = child.Wait() // what there is to know is in ProcessState
	if exit := s.close(ctx); exit != exitOK {
		return code(exit)
	}
	return code(exitOf(child))
}

func lookReason(err error) error {
	if e := (*exec.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// child is the program with the proxy in its environment. When ctx ends it is
// asked to stop, and later made to.
func (a *app) child(ctx context.Context, s *session, f *flags, path string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args[1:]...) //nolint:gosec // running the user's program is what run is for
	cmd.Args[0] = args[0]
	cmd.Env = overlay(a.env, s.settings(f.doors))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.stdin, a.stdout, a.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// exitOf is a finished program's exit code; as in shells, 128 and the signal's
// number when one ended it.
func exitOf(cmd *exec.Cmd) int {
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// settings are the variables that make a program use the proxy and trust it.
// Node heeds HTTPS_PROXY only when told to, and SSL_CERT_FILE and its like
// replace a program's roots, so they name a bundle.
func (s *session) settings(doors []string) (env []string) {
	url, bundle := s.proxy.URL(), filepath.Join(s.trust, bundleFile)
	if slices.Contains(doors, proxy.BaseURL) {
		env = append(env,
			"ANTHROPIC_BASE_URL="+url+"/anthropic",
			"OPENAI_BASE_URL="+url+"/openai/v1",
			"GEMINI_BASE_URL="+url+"/gemini",
			"GOOGLE_GEMINI_BASE_URL="+url+"/gemini")
	}
	if slices.Contains(doors, proxy.MITM) {
		env = append(env,
			"HTTPS_PROXY="+url, "https_proxy="+url, "NO_PROXY=", "no_proxy=",
			"NODE_USE_ENV_PROXY=1", "NODE_EXTRA_CA_CERTS="+filepath.Join(s.trust, caFile),
			"SSL_CERT_FILE="+bundle, "REQUESTS_CA_BUNDLE="+bundle, "CURL_CA_BUNDLE="+bundle)
	}
	return env
}

// ways around the proxy, which a program must not be left with.
var ways = []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"}

// overlay returns env with settings in the place of what they replace.
func overlay(env, settings []string) []string {
	var out []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		replaced := slices.Contains(ways, name) ||
			slices.ContainsFunc(settings, func(s string) bool { return strings.HasPrefix(s, name+"=") })
		if !replaced {
			out = append(out, kv)
		}
	}
	return append(out, settings...)
}
