// Package subject runs agents that are programs. What it knows of one is in a
// profile, which is loaded or made from a command line:
//
//	profile, err := profiles.Find("claude-code")
//	profile, err := subject.AdHoc(subject.CommandLine{Run: []string{"my-agent", "--print", "{prompt}"}})
//	agent, err := subject.New(profile, subject.Options{Path: path})
//	found, err := harness.Run(ctx, harness.Options{Config: harness.Config{Subject: agent}})
//
// [Preflight] finds out before the first case whether the agent can be judged at
// all: whether it starts, what its version is, whether a prompt leads to a request
// that arrives here. [Observe] does the same and keeps what was seen, for people
// and for [WriteProfile].
//
// The package decides what is started and explains what happened. The harness
// makes the rooms, and package isolate starts the processes.
package subject

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/profiles"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
)

// plan is how a profile is carried out in one room: the values of placeholders and
// what is added to the commands. It does nothing itself.
type plan struct {
	profile  *profiles.Profile
	room     harness.Room
	provider profiles.Provider
	values   map[string]string
}

func newPlan(p *profiles.Profile, room harness.Room) plan {
	name := room.Case.Target.Provider
	pl := plan{profile: p, room: room, provider: p.Providers[name]}
	pl.values = map[string]string{
		"home": room.Home, "work": room.Work, "temp": room.Temp, "effort": room.Effort, "system": room.System,
		"model": cmp.Or(pl.provider.Model, room.Model), "provider": cmp.Or(pl.provider.Name, name),
		"key": cmp.Or(harness.Variable(room.Env, keyVariable(name)), "conform-made-up-key"), "proxy_url": room.ProxyURL,
		"ca_file": room.CAFile, "base_url": room.BaseURL[name],
	}
	if dir := p.Dir(); dir != "" {
		pl.values["profile_dir"] = dir
	}
	if pl.offersTools() {
		pl.values["mcp_config"], pl.values["mcp_url"] = filepath.Join(room.Temp, "conform-mcp.json"), room.Tools.URL
		if argv := room.Tools.Argv(); len(argv) > 0 {
			pl.values["mcp_program"], pl.values["mcp_argv"] = argv[0], mustMarshal(argv)
			pl.values["mcp_args"] = mustMarshal(append([]string{}, argv[1:]...))
		}
	}
	return pl
}

// keyVariable is the variable of a room's environment that holds the made-up key of a provider.
func keyVariable(provider string) string {
	if w := wires.Find(provider); w != nil {
		return w.Environment.AgentKeys[0]
	}
	return ""
}

// offersTools reports whether the agent is given our tool server.
func (pl plan) offersTools() bool {
	return pl.profile.MCP != nil && (len(pl.room.Tools.Command) > 0 || pl.room.Tools.URL != "")
}

func mustMarshal(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // of strings, lists and maps
	}
	return string(out)
}

// roomAdditions are what the profile adds in this room, the special behind the general.
func (pl plan) roomAdditions() []*profiles.Addition {
	list := []*profiles.Addition{&pl.profile.Always, &pl.provider.Always}
	if pl.room.Ingress == profiles.IngressBaseURL {
		list = append(list, pl.profile.BaseURL, pl.provider.BaseURL)
	} else {
		list = append(list, pl.profile.MITM, pl.provider.MITM)
	}
	if pl.values["model"] != "" {
		list = append(list, pl.profile.Model)
	}
	if pl.room.System != "" {
		list = append(list, pl.profile.System)
	}
	if n := pl.room.MaxTurns; n > 0 {
		pl.values["max_turns"] = strconv.Itoa(n)
		list = append(list, pl.profile.MaxTurns)
	}
	if pl.room.Effort != "" {
		list = append(list, pl.profile.Effort)
	}
	if pl.offersTools() {
		list = append(list, pl.profile.MCP)
	}
	if s := pl.room.Case.Scenario; s != nil && slices.Contains(s.Needs(), specs.AbilityHosted) {
		list = append(list, pl.profile.Hosted)
	}
	return slices.DeleteFunc(list, func(a *profiles.Addition) bool { return a == nil })
}

// fillArguments fills in a command and adds what the profile adds to it.
func (pl plan) fillArguments(command []profiles.Template, prompt, session string) ([]string, error) {
	var added []profiles.Template
	for _, a := range pl.roomAdditions() {
		added = append(added, a.Args...)
	}
	values := maps.Clone(pl.values)
	values["prompt"] = prompt
	if session != "" {
		values["session"] = session
	}
	var argv []string
	for _, t := range insertArguments(command, added) {
		text, err := t.Fill(values)
		if err != nil {
			return nil, fmt.Errorf("%s: argument %s: %w", pl.profile.Name, t, err)
		}
		argv = append(argv, text)
	}
	argv[0] = programPath(pl.profile, argv[0])
	return argv, nil
}

// programPath is the program as the sandbox takes it: a name to be looked up in PATH,
// or a path, which a profile means relative to its own folder.
func programPath(p *profiles.Profile, program string) string {
	if filepath.IsAbs(program) || !isPath(program) || p.Dir() == "" {
		return program
	}
	return filepath.Join(p.Dir(), program)
}

// isPath reports whether a program is a path and not a name in PATH.
func isPath(program string) bool {
	return strings.ContainsAny(program, "/"+string(filepath.Separator))
}

// insertArguments puts added where the command says {args}, else before a lone
// "--", else at the end.
func insertArguments(command, added []profiles.Template) []profiles.Template {
	if at := slices.Index(command, "{args}"); at >= 0 {
		return slices.Concat(command[:at], added, command[at+1:])
	}
	if at := slices.Index(command, "--"); at > 0 {
		return slices.Concat(command[:at], added, command[at:])
	}
	return slices.Concat(command, added)
}

// fillEnvironment is that of the room with what the profile sets and removes.
func (pl plan) fillEnvironment() ([]string, error) {
	env := slices.Clone(pl.room.Env)
	for _, a := range pl.roomAdditions() {
		for _, name := range a.Unset {
			env = dropVariable(env, name)
		}
		for _, name := range slices.Sorted(maps.Keys(a.Env)) {
			value, err := a.Env[name].Fill(pl.values)
			if err != nil {
				return nil, fmt.Errorf("%s: variable %s: %w", pl.profile.Name, name, err)
			}
			env = append(dropVariable(env, name), name+"="+value)
		}
	}
	return env, nil
}

// Environment is that of a process in a room, with what a profile sets and removes. An agent
// that is started before any case, to learn what it is, gets an address at which nothing
// listens as its base URL.
func Environment(p *profiles.Profile, room harness.Room) ([]string, error) {
	if room.Case.Scenario == nil {
		room.Ingress = profiles.IngressBaseURL
		room.Case.Target.Provider, _ = providerFor(p, room.Ingress)
		room.BaseURL = map[string]string{room.Case.Target.Provider: "http://127.0.0.1:9"}
	}
	return newPlan(p, room).fillEnvironment()
}

// fillFiles are the files to write, by their absolute paths.
func (pl plan) fillFiles() (map[string]string, error) {
	files := map[string]string{}
	for _, a := range pl.roomAdditions() {
		for name, template := range a.Files {
			text, err := template.Fill(pl.values)
			if err != nil {
				return nil, fmt.Errorf("%s: file %s: %w", pl.profile.Name, name, err)
			}
			files[filepath.Join(pl.room.Home, filepath.FromSlash(name))] = text
		}
	}
	if pl.offersTools() {
		files[pl.values["mcp_config"]] = pl.room.Tools.ConfigFile()
	}
	return files, nil
}

func dropVariable(env []string, name string) []string {
	return slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
}

// NarrowProfile returns the profile with no more than the providers named. Nil names: the
// profile as it is. The error names a provider that the agent is not run with.
func NarrowProfile(p *profiles.Profile, names []string) (*profiles.Profile, error) {
	if names == nil {
		return p, nil
	}
	if err := checkProviders(p.Name, names, slices.Collect(maps.Keys(p.Providers))); err != nil {
		return nil, err
	}
	narrow := *p
	narrow.Providers = map[string]profiles.Provider{}
	for _, name := range names {
		narrow.Providers[name] = p.Providers[name]
	}
	return &narrow, nil
}

// NarrowAgent is [NarrowProfile] for an agent without a profile.
func NarrowAgent(agent harness.Subject, names []string) (harness.Subject, error) {
	about := agent.About()
	if names == nil {
		return agent, nil
	}
	if err := checkProviders(about.Name, names, about.Providers); err != nil {
		return nil, err
	}
	about.Providers = names
	return &described{agent, about}, nil
}

// checkProviders says which name is not a provider that an agent has. Nil known: it has all.
func checkProviders(agent string, names, known []string) error {
	for _, name := range names {
		if providerNames := wires.Names(); !slices.Contains(providerNames, name) {
			return fmt.Errorf("--provider: unknown value %q; use %s%s", name, strings.Join(providerNames, ", "),
				spelling.Hint(name, providerNames))
		}
		if known != nil && !slices.Contains(known, name) {
			slices.Sort(known)
			return fmt.Errorf("--provider %s: %s is run with %s only; name one of those, or leave the flag out", name,
				agent, strings.Join(known, ", "))
		}
	}
	return nil
}

// interpreters are programs that run another one, which is the agent: the pattern of
// their base names, and those of their flags that take a value.
var interpreters = []struct {
	name   *regexp.Regexp
	valued []string
}{
	{regexp.MustCompile(`^(node|nodejs|bun|deno|tsx|ts-node)$`),
		[]string{"-r", "--require", "--import", "--loader", "--env-file", "-C", "--conditions"}},
	{regexp.MustCompile(`^(python|pypy)[0-9.]*$`), []string{"-W", "-X"}},
	{regexp.MustCompile(`^(npx|bunx|pnpx|uvx|pipx)$`), []string{"-p", "--package", "--from", "--with", "--python"}},
	{regexp.MustCompile(`^(npm|pnpm|yarn|uv|poetry|go|cargo)$`),
		[]string{"--project", "--directory", "--prefix", "--python", "--with"}},
	{regexp.MustCompile(`^(sh|bash|dash|zsh|ruby|perl|php|lua|luajit|Rscript|java|groovy|dotnet|mono|elixir|escript|racket|guile)[0-9.]*$`), nil},
	{regexp.MustCompile(`^(env|nice|timeout|stdbuf|nohup|time)$`), []string{"-u", "-n"}},
}

// subcommands are words between an interpreter and the program that it runs.
var subcommands = []string{"run", "exec", "x", "tool", "dlx"}

// scriptIndex is where the command names the program that an interpreter runs, 0 for
// a command that is a program itself.
func scriptIndex(argv []string) int {
	at := 0
	for {
		valued, ok := interpreterFlags(argv[at])
		if !ok {
			return at
		}
		next := programAfter(argv, at, valued)
		if next == 0 {
			return at
		}
		at = next
	}
}

func interpreterFlags(program string) (valued []string, ok bool) {
	base := strings.TrimSuffix(filepath.Base(program), ".exe")
	for _, i := range interpreters {
		if i.name.MatchString(base) {
			return i.valued, true
		}
	}
	return nil, false
}

// programAfter is the index of the first argument behind at that is neither a flag, a
// flag's value, a variable nor a subcommand; 0 when there is none.
func programAfter(argv []string, at int, valued []string) int {
	for i := at + 1; i < len(argv); i++ {
		arg := argv[i]
		switch {
		case slices.Contains(valued, arg):
			i++
		case arg == "-c" || arg == "-e" || arg == "--eval" || strings.Contains(arg, "{prompt}"):
			return 0 // the program is text
		case strings.HasPrefix(arg, "-"), slices.Contains(subcommands, arg), variableAssignment.MatchString(arg),
			duration.MatchString(arg):
		default:
			return i
		}
	}
	return 0
}

var (
	variableAssignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	duration           = regexp.MustCompile(`^[0-9.]+[smhd]?$`)
	unnameable         = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
	packageVersion     = regexp.MustCompile(`(.)@[^/@]*$`)
)

// extensions are dropped from the names of programs.
var extensions = strings.Fields(
	".mjs .cjs .js .mts .cts .ts .tsx .py .rb .pl .php .sh .bash .lua .R .exs .jar .exe .cmd .bat .dll .go")

// commandName is what reports call the agent of a command line: the base name of its
// program, or of the script that an interpreter runs.
func commandName(argv []string) string {
	name := filepath.Base(filepath.ToSlash(packageVersion.ReplaceAllString(argv[scriptIndex(argv)], "$1")))
	if ext := filepath.Ext(name); ext != name && slices.Contains(extensions, ext) {
		name = strings.TrimSuffix(name, ext)
	}
	name = strings.TrimLeft(unnameable.ReplaceAllString(name, "-"), "._-")
	if name == "" {
		return "agent"
	}
	return name
}
