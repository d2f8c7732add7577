package recorder

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/rule"
)

const simulateLong = `Answer in the providers' place on loopback: as strict as the real ones, without a key
and without a network.

Any made-up key is accepted; one that looks real, of 32 bytes or more behind sk- or
AIza, is refused. The base URLs are printed as KEY=VALUE, for the clients'
environment. Without --scenario the model thinks, calls the tools that the prompt names,
or else the first tool that changes nothing, and reports what they answered. Every reply
is a function of the request and --seed; nothing is kept but the responses that OpenAI's
clients have stored.

--level strict enforces every rule of docs/simulator-rules.md, live those that the
live API is known to enforce, lenient only what a reply cannot be made without.`

// simulateFlags are the flags of recorder simulate.
type simulateFlags struct {
	listen    simulator.ListenConfig
	config    simulator.Config
	level     string
	scenario  string
	tls       bool
	authority string
	starter   Starter
}

func (a *app) simulateCommand() *cobra.Command {
	s := &simulateFlags{}
	cmd := &cobra.Command{
		Use: "simulate", Short: "Simulate the providers: answer, check and refuse as they do", Long: simulateLong,
		Args:    cli.NoArgs,
		Example: "  recorder simulate\n  recorder simulate --provider anthropic --listen 127.0.0.1:9000 --level live",
		RunE: func(cmd *cobra.Command, _ []string) error {
			flag := "provider"
			if cmd.Flags().Changed("wire") {
				flag = "wire"
			}
			if err := s.resolveFlags(flag); err != nil {
				return err
			}
			var mu sync.Mutex
			say := func(format string, args ...any) {
				mu.Lock()
				defer mu.Unlock()
				a.Say(format, args...)
			}
			s.config.Mismatch = func(m *script.Mismatch) { say("%s: %v", m.Provider, m) }
			s.config.Note = func(n simulator.Note) {
				say("%s %s: accepted, strict would refuse it by %s: %s", n.Provider, n.Path, n.Rule, n.Words)
			}
			server, err := simulator.Open(s.listen, simulator.New(s.config))
			if err != nil {
				return cli.Usage("--listen %w", err)
			}
			defer server.Close()
			if err := s.printVariables(a, server); err != nil {
				return err
			}
			s.starter.Wait(cmd.Context(), a)
			return nil
		},
	}
	set := cmd.Flags()
	set.StringVar(&s.listen.Address, "listen", "127.0.0.1:0",
		"loopback `address` to listen on; port 0 takes a free one")
	set.StringSliceVar(&s.config.Providers, "provider", simulator.Providers(), "the `providers` to be")
	set.StringSliceVar(&s.config.Providers, "wire", simulator.Providers(),
		"the same as --provider: the `wires` to speak")
	set.StringVar(&s.config.Dialect, "dialect", "",
		"whose `dialect` of a wire to speak, such as openrouter, to clients that do not name its host")
	set.StringVar(&s.level, "level", rule.Levels[0], "how much is refused: "+strings.Join(rule.Levels, ", "))
	set.StringVar(&s.scenario, "scenario", "", "the `scenario` to follow: a name or a .txtar file")
	set.StringVar(&s.config.Seed, "seed", "simulator",
		"`text` that ids and tokens are made from; equal seeds give equal bytes")
	set.StringSliceVar(&s.config.Off, "off", nil, "the `id` of a rule not to enforce; may be repeated")
	set.BoolVar(&s.config.ForeignTokens, "accept-foreign-seals", false,
		"accept continuity tokens that were issued elsewhere; check all else about them")
	set.DurationVar(&s.config.Pace, "pace", 0, "`pause` between two writes of a stream")
	set.BoolVar(&s.listen.HTTP2, "http2", false, "offer HTTP/2 too; a stream that is cut is then reset")
	set.BoolVar(&s.tls, "tls", false, "serve https, also for the providers' host names; the certificate goes to --ca")
	s.starter.AddTo(cmd)
	set.StringVar(&s.authority, "ca", "", "with --tls: `file` for the certificate that clients must trust")
	complete := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		all, _ := namedScenarios() // of a release they can be read
		// Files can be named as well.
		return slices.Sorted(maps.Keys(all)), cobra.ShellCompDirectiveDefault
	}
	_ = cmd.RegisterFlagCompletionFunc("scenario", complete) // the flag is there
	return cmd
}

// resolveFlags checks the flags and finds what they name. flag is the one by which the wires were given.
func (s *simulateFlags) resolveFlags(flag string) (err error) {
	for _, p := range s.config.Providers {
		if err := checkChoice(flag, p, simulator.Providers()); err != nil {
			return err
		}
	}
	if d := s.config.Dialect; d != "" {
		if err := checkChoice("dialect", d, simulator.Dialects()); err != nil {
			return err
		}
		speaks := func(wire string) bool { return script.Simulations()[wire].Dialects[d] != nil }
		if all := simulator.Providers(); !slices.ContainsFunc(s.config.Providers, speaks) {
			return cli.Usage("--dialect %s: is a dialect of %s, which is not simulated; add it to --%s", d,
				all[slices.IndexFunc(all, speaks)], flag)
		}
	}
	var known []string
	for _, p := range simulator.Providers() {
		for _, r := range simulator.Rules(p) {
			known = append(known, r.ID)
		}
	}
	for _, id := range s.config.Off {
		if !slices.Contains(known, id) {
			return cli.Usage("--off %s: no such rule; docs/simulator-rules.md lists them%s", id,
				spelling.Hint(id, known))
		}
	}
	if s.config.Level, err = rule.ParseLevel(s.level); err != nil {
		return checkChoice("level", s.level, rule.Levels)
	}
	if s.config.Pace < 0 {
		return cli.Usage("--pace %v: is below 0; no pause is 0", s.config.Pace)
	}
	if s.tls != (s.authority != "") {
		return cli.Usage("--tls and --ca go together: --ca FILE is the authority that clients must trust")
	}
	s.listen.Plain = !s.tls
	s.config.Now = time.Now
	s.config.Scenario, err = findScenario(s.scenario)
	return err
}

// findScenario reads a file, or looks a name up among the embedded scenarios;
// "" is none.
func findScenario(arg string) (*specs.Scenario, error) {
	if arg == "" {
		return nil, nil
	}
	data, err := os.ReadFile(arg)
	if err == nil {
		s, err := specs.ParseScenario(arg, data)
		if err != nil {
			return nil, cli.Usage("%w", err)
		}
		return s, nil
	}
	if strings.HasSuffix(arg, ".txtar") || !errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Unreadable("--scenario "+arg, err)
	}
	all, err := namedScenarios()
	if s := all[arg]; s != nil || err != nil {
		return s, err
	}
	names := slices.Sorted(maps.Keys(all))
	return nil, cli.Usage("--scenario %s: neither a file nor one of %s%s", arg, strings.Join(names, ", "),
		spelling.Hint(arg, names))
}

// namedScenarios are the embedded ones by name.
func namedScenarios() (map[string]*specs.Scenario, error) {
	all, err := specs.Scenarios()
	simulated, simulatedErr := specs.Simulated()
	byName := map[string]*specs.Scenario{}
	for _, s := range append(all, simulated...) {
		byName[s.Name] = s
	}
	return byName, errors.Join(err, simulatedErr)
}

// printVariables prints the clients' settings when the server is ready.
func (s *simulateFlags) printVariables(a *app, server *simulator.Server) error {
	var lines []string
	for _, p := range s.config.Providers {
		lines = append(lines, wires.Find(p).BaseURLVariables(server.URL)...)
	}
	if s.tls {
		if err := fileutil.WriteFile(s.authority, server.CA, 0o600); err != nil {
			return cli.Usage("--ca %s: cannot be written: %w", s.authority, fileutil.Reason(err))
		}
		lines = append(lines, "NODE_EXTRA_CA_CERTS="+s.authority, "SSL_CERT_FILE="+s.authority)
	}
	if err := s.starter.SayReady(a, server.URL, lines); err != nil {
		return err
	}
	s.sayPrompts(a)
	a.Note("simulating %s, %s; interrupt to end", strings.Join(s.config.Providers, ", "), s.describeLevel())
	return nil
}

// describeLevel returns the level, and which of its rules are off.
func (s *simulateFlags) describeLevel() string {
	said := s.level
	if len(s.config.Off) > 0 {
		said += " without " + strings.Join(s.config.Off, ", ")
	}
	if s.config.ForeignTokens {
		said += ", foreign seals accepted"
	}
	if s.config.Dialect != "" {
		said += ", dialect " + s.config.Dialect
	}
	return said
}

// sayPrompts prints what the user of the scenario asks, with the nonces of this seed.
func (s *simulateFlags) sayPrompts(a *app) {
	if s.config.Scenario == nil {
		return
	}
	for i, step := range s.config.Scenario.Steps {
		line := fmt.Sprintf("step %d asks %q", i+1, specs.Fresh(step.Prompt, s.config.Seed))
		if step.Says != "" {
			line += fmt.Sprintf(" and hears %q", specs.Fresh(step.Says, s.config.Seed))
		}
		a.Say("%s", line)
	}
}
