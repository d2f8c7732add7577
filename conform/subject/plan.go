package subject

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/harness"
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
		"key": cmp.Or(lookupVariable(room.Env, keyVariable(name)), "conform-made-up-key"), "proxy_url": room.ProxyURL, "ca_file": room.CAFile, "base_url": room.BaseURL[name],
	}
	if dir := p.Dir(); dir != "" {
		pl.values["profile_dir"] = dir
	}
	if pl.offersTools() {
		maps.Copy(pl.values, toolValues(room))
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

func toolValues(room harness.Room) map[string]string {
	values := map[string]string{"mcp_config": filepath.Join(room.Temp, "conform-mcp.json"), "mcp_url": room.Tools.URL}
	if argv := room.Tools.Argv(); len(argv) > 0 {
		values["mcp_program"] = argv[0]
		values["mcp_args"], values["mcp_argv"] = mustMarshal(append([]string{}, argv[1:]...)), mustMarshal(argv)
	}
	return values
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

func lookupVariable(env []string, name string) (value string) {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

func dropVariable(env []string, name string) []string {
	return slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
}
