package conform

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/gateway"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/profiles"
	"github.com/meerkat-go/conformance/wires"
)

// gatewayFlags say which gateway is judged, and how it is started.
type gatewayFlags struct {
	wire, upstreamWire  string
	url, listen, model  string
	env, files, headers []string
	keep                string
	workdir             string
	wait                time.Duration
	passesKey           bool
	profile             string
	command             []string
	dutyFlags
}

// The made-up keys of both sides. No key of theirs is real, so that none can leak.
const (
	clientKey   = "conform-client-key-3f9a"
	upstreamKey = "conform-upstream-key-71c2"
)

func (a *app) gatewayCommand() *cobra.Command {
	var f gatewayFlags
	cmd := &cobra.Command{
		Use:               "gateway [NAME] [-- CMD]",
		Short:             "Judge a gateway from both sides, without a key, a model or a network",
		ValidArgsFunction: cobra.FixedCompletions(profiles.GatewayNames(), cobra.ShellCompDirectiveDefault),
		Long: `Judge a gateway from both sides: a client of ours asks it, and the strict simulator answers
behind it. What the client sent is compared with what arrives at the simulator, and what the
simulator answers with what the client gets.

NAME is one of the well-known gateways
` + strings.Join(profiles.GatewayNames(), ", ") + `,
which has to be installed, or a profile of your own, FILE.yaml. Flags outrank it. Without NAME, the
command behind -- starts the gateway. In its arguments, in --env and in --file stand
  {port}          the port on which the gateway has to listen
  {upstream}      the URL of the simulator; each wire is below its name: {upstream}/anthropic
  {upstream_key}  the key that the gateway has to send there
  {client_key}    the key that clients send to the gateway
  {home}          its home folder, which is new and empty but for --file
A gateway that runs already is named by --url; the simulator then listens at --listen, and both keys
are ` + clientKey + ` and ` + upstreamKey + `.

Where both sides speak one wire, values and bytes are compared. Between two wires, what was said is
compared, and what was lost is named. conform explain GW-10 explains an id.

Exits 1 when something failed, 2 for wrong usage or when nothing is selected, 4 when the
gateway does not start or ends while it is judged. --json prints ` + report.RunSchema + `.`,
		Example: `  conform gateway claude-code-router --upstream-wire gemini
  conform gateway --wire anthropic --env BASE={upstream}/anthropic --env KEY={upstream_key} -- my-gateway --port {port}
  conform gateway --wire anthropic --upstream-wire gemini --file .router/config.json=config.json -- router start
  conform gateway --wire openai --url http://127.0.0.1:8787/v1 --listen 127.0.0.1:9700`,
		RunE: func(cmd *cobra.Command, args []string) error {
			at := cmd.ArgsLenAtDash()
			if at < 0 {
				at = len(args)
			}
			if at > 1 {
				return cli.Usage("gateway: takes one name, got %q as well; put the gateway's command behind --",
					args[1])
			} else if at == 1 {
				f.profile = args[0]
			}
			f.command = args[at:]
			return a.judgeGateway(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.wire, "wire", "", "what clients speak to the gateway: "+strings.Join(wires.Names(), ", "))
	flags.StringVar(&f.upstreamWire, "upstream-wire", "", "what the gateway speaks to the provider (default: the same)")
	flags.StringVar(&f.url, "url", "", "base URL of a gateway that runs already")
	flags.StringVar(&f.listen, "listen", "", "address of the simulator, `HOST:PORT` on loopback (default: a free port)")
	flags.StringVarP(&f.model, "model", "m", "", "model that clients ask for (default: those of the scenarios)")
	flags.StringArrayVar(&f.env, "env", nil, "variable for the gateway: `NAME=VALUE`")
	flags.StringArrayVar(&f.files, "file", nil,
		"file for the gateway, made from a template: `PATH=FILE`, PATH below its home folder")
	flags.StringArrayVar(&f.headers, "header", nil,
		"header that clients send beside their own: `NAME=VALUE`, which may hold {upstream} and {upstream_key}")
	flags.StringVar(&f.workdir, "workdir", "", "start the gateway in `DIR` (default: its home folder)")
	flags.DurationVar(&f.wait, "wait", 30*time.Second, "how long the gateway may take to listen")
	flags.BoolVar(&f.passesKey, "passes-key", false, "the gateway has no key of its own and passes the client's on")
	flags.StringVar(&f.keep, "keep", "", "keep what both sides said as cassettes in `DIR`")
	f.dutyFlags.addTo(cmd)
	return cmd
}

// findWire returns the wire that a flag names.
func findWire(flag, name string) (*wires.Wire, error) {
	if name == "" {
		return nil, cli.Usage("--%s: is missing; say what clients speak: %s", flag, wires.List(wires.Names()))
	}
	if w := wires.Find(name); w != nil {
		return w, nil
	}
	return nil, cli.Usage("--%s: there is no wire %q; use %s%s", flag, name, wires.List(wires.Names()),
		spelling.Hint(name, wires.Names()))
}

func (a *app) judgeGateway(ctx context.Context, f gatewayFlags) error {
	subject, route, err := f.readProfile()
	if err != nil {
		return err
	}
	front, err := findWire("wire", route.Wire)
	if err != nil {
		return err
	}
	behind := front
	if route.UpstreamWire != "" {
		if behind, err = findWire("upstream-wire", route.UpstreamWire); err != nil {
			return err
		}
	}
	switch {
	case f.url == "" && len(subject.Run) == 0:
		return cli.Usage("gateway: needs a name, a command behind --, or --url; write for example: -- my-gateway --port {port}")
	case f.url != "" && len(f.command) > 0:
		return cli.Usage("--url: there is a command behind -- as well; leave one out")
	case f.url != "" && f.listen == "":
		return cli.Usage("--url: the gateway must know where the simulator listens; add --listen 127.0.0.1:PORT and point the gateway there")
	}
	judged, err := a.newDutyRun(f.dutyFlags, front.Name, evidence.SourceSimulator)
	if err != nil {
		return err
	}
	up, err := gateway.Open(f.listen)
	if err != nil {
		return cli.Usage("--listen %w", err)
	}
	defer up.Close()
	base, ended := f.url, (func() error)(nil)
	if base == "" {
		home, err := os.MkdirTemp("", "conform-gateway-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(home) }()
		process, err := a.startGateway(ctx, f, subject, route, up.URL, home)
		if err != nil {
			return err
		}
		defer process.Close()
		base, ended = process.URL, process.Ended
	}
	headers := http.Header{}
	for name, value := range route.Headers {
		headers.Set(name, profiles.GatewayValues{Upstream: up.URL, UpstreamKey: upstreamKey,
			ClientKey: clientKey}.Fill(value))
	}
	judged.subject = report.Subject{Name: subject.Name, Kind: "gateway", Wire: front.Name}
	if behind != front {
		judged.subject.UpstreamWire = behind.Name
	}
	if len(f.command) == 0 {
		judged.issues = route.Issues
	}
	if f.url == "" && len(f.command) == 0 {
		judged.subject.Version = subject.Install.Version()
	}
	judged.subject = f.named(judged.subject)
	bar := a.StartProgress("played")
	found, err := gateway.Judge(ctx, gateway.Config{
		Wire: front, UpstreamWire: behind, Upstream: up, Base: base, Header: headers,
		Model: route.Model, ClientKey: clientKey, UpstreamKey: upstreamKey, PassesKey: route.PassesKey,
		Only: judged.only.holdsCase, Progress: func(_, total int) { bar.Step(total) }, Ended: ended,
	})
	bar.Done()
	if errors.Is(err, gateway.ErrNothingSelected) {
		return judged.only.unknownError(err)
	} else if err != nil {
		return err
	}
	if f.keep != "" {
		if err := found.Keep(f.keep, program.Name+" "+cli.Version()); err != nil {
			return err
		}
	}
	err = judged.deliverDuties(a, found.Cases, found.Took, ctx.Err() != nil || found.Ended != nil)
	if found.Ended != nil {
		return cli.Fail(report.ExitHarness, "%s: %w", subject.Name, found.Ended)
	}
	return err
}

// readProfile returns the gateway with its route: what the flags say, over what the profile says.
func (f *gatewayFlags) readProfile() (*profiles.Gateway, profiles.GatewayRoute, error) {
	g, route := &profiles.Gateway{Name: "gateway"}, profiles.GatewayRoute{Wire: f.wire, UpstreamWire: f.upstreamWire}
	if f.profile != "" {
		var err error
		if g, err = profiles.FindGateway(f.profile); err != nil {
			return nil, route, cli.Usage("%w", err)
		}
		if route, err = g.Route(f.wire, f.upstreamWire); err != nil {
			return nil, route, cli.Usage("%w", err)
		}
	} else if len(f.command) > 0 {
		g.Name = filepath.Base(f.command[0])
	}
	if len(f.command) > 0 {
		g.Run = f.command
	}
	said := profiles.GatewaySettings{Model: f.model, PassesKey: f.passesKey, Env: map[string]string{},
		Headers: map[string]string{}, Files: map[string]string{}}
	for _, option := range []struct {
		flag, form string
		entries    []string
		into       map[string]string
	}{{"env", "NAME=VALUE", f.env, said.Env}, {"header", "NAME=VALUE", f.headers, said.Headers},
		{"file", "PATH=FILE", f.files, said.Files}} {
		for _, entry := range option.entries {
			name, value, ok := strings.Cut(entry, "=")
			if !ok || name == "" {
				return nil, route, cli.Usage("--%s: %q is not %s", option.flag, entry, option.form)
			}
			option.into[name] = value
		}
	}
	for path, file := range said.Files {
		data, err := readFileAtMost(file, 1<<20)
		if err != nil {
			return nil, route, err
		}
		said.Files[path] = string(data)
	}
	route.GatewaySettings = said.Over(route.GatewaySettings)
	return g, route, nil
}

// startGateway starts the command of a gateway.
func (a *app) startGateway(ctx context.Context, f gatewayFlags, g *profiles.Gateway, route profiles.GatewayRoute,
	upstream, home string) (*gateway.Process, error) {
	c := gateway.Command{Args: g.Run, Env: route.Env, Files: route.Files, Wait: f.wait,
		Path: searchPath(a.Getenv("PATH")), Dir: f.workdir}
	var err error
	if c.Dir != "" {
		if c.Dir, err = filepath.Abs(c.Dir); err != nil {
			return nil, err
		}
	}
	process, err := gateway.Start(ctx, c,
		profiles.GatewayValues{Upstream: upstream, UpstreamKey: upstreamKey, ClientKey: clientKey}, home)
	switch {
	case err != nil && g.Install != nil:
		return nil, cli.Fail(report.ExitHarness, "%s: %w; it is installed by: npm install -g %s", g.Name, err,
			strings.Join(g.Install.NPM, " "))
	case err != nil:
		return nil, cli.Fail(report.ExitHarness, "%s: %w", g.Name, err)
	}
	return process, nil
}
