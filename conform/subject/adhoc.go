package subject

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/shlex"

	"github.com/meerkat-go/conformance/profiles"
	"github.com/meerkat-go/conformance/wires"
)

// CommandLine describes an agent without a profile. It is plain data.
type CommandLine struct {
	// Run is the program and its arguments; one of them says {prompt}, unless Stdin
	// is set.
	Run []string
	// Stdin gives the prompt on standard input.
	Stdin bool
	// Resume continues a session in a new process, with the quotes of a shell. "":
	// the agent cannot.
	Resume string
	// SessionPattern finds the {session} of Resume in the output of the first
	// process. "" looks for what most agents print.
	SessionPattern string
	// MCP are the arguments that offer our tool server, with the quotes of a shell.
	// "": it cannot be offered.
	MCP string
	// Env are variables for the agent, K=V.
	Env []string
	// Providers are those that the agent is led to. Nil: all.
	Providers []string
	// WorkDir is the folder in which the agent starts, or in a copy of it. "": an empty one.
	WorkDir string
}

// defaultSession finds the id of a session in what agents print.
const defaultSession = `(?i)session(?:[ _-]?id)?["']?\s*[:=]\s*["']?([A-Za-z0-9][A-Za-z0-9._-]{3,})`

// AdHoc makes the profile of a command line. Arguments that name files are relative to
// WorkDir, in which the agent finds them, or to the folder of this process: then they become
// absolute. An error says which part is wrong and what to write.
func AdHoc(c CommandLine) (*profiles.Profile, error) {
	if len(c.Run) == 0 || c.Run[0] == "" {
		return nil, errors.New("command: names no program; write: -- my-agent {prompt}")
	}
	p := &profiles.Profile{Name: commandName(c.Run), Providers: map[string]profiles.Provider{}}
	p.Run = commandTemplates(c.Run, c.WorkDir)
	if !takesPrompt(p.Run) && !c.Stdin {
		return nil,
			fmt.Errorf("command %s: no argument says {prompt}, so the agent would be asked nothing; write {prompt} where its prompt goes, or use --stdin", c.Run[0])
	}
	if takesPrompt(p.Run) && c.Stdin {
		return nil, fmt.Errorf("command %s: takes {prompt} as an argument; leave out --stdin", c.Run[0])
	}
	for _, add := range []func(*profiles.Profile) error{c.addResume, c.addTools, c.addVariables, c.addProviders,
		checkArguments} {
		if err := add(p); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (c CommandLine) addProviders(p *profiles.Profile) error {
	names := c.Providers
	if names == nil {
		names = wires.Names()
	}
	if err := checkProviders(p.Name, names, nil); err != nil {
		return err
	}
	for _, name := range names {
		p.Providers[name] = profiles.Provider{}
	}
	return nil
}

// addVariables sets the variables. One whose value depends on the way in is set for
// that way only.
func (c CommandLine) addVariables(p *profiles.Profile) error {
	for _, kv := range c.Env {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || !profiles.IsVariable(name) {
			return errors.New("--env: an entry is not NAME=VALUE; it is not shown because it may be a secret")
		}
		t := profiles.Template(value)
		to, key := &p.Always, ""
		switch {
		case t.Has("base_url"):
			to, key = orNew(&p.BaseURL), "base_url"
		case t.Has("proxy_url") || t.Has("ca_file"):
			to, key = orNew(&p.MITM), "mitm"
		case namesToolServer(t):
			to, key = orNew(&p.MCP), "mcp"
		}
		if err := t.CheckIn(key); err != nil {
			return fmt.Errorf("--env %s: %w", name, err)
		}
		if to.Env == nil {
			to.Env = map[string]profiles.Template{}
		}
		to.Env[name] = t
	}
	return nil
}

// ForProtocol makes the profile of an agent that speaks a protocol, with variables as in
// [CommandLine].
func ForProtocol(name string, env, providers []string) (*profiles.Profile, error) {
	p := &profiles.Profile{Name: name, Providers: map[string]profiles.Provider{}}
	c := CommandLine{Env: env, Providers: providers}
	return p, cmp.Or(c.addVariables(p), c.addProviders(p))
}

func orNew(a **profiles.Addition) *profiles.Addition {
	if *a == nil {
		*a = new(profiles.Addition)
	}
	return *a
}

// checkArguments finds placeholders that do not exist or have no value.
func checkArguments(p *profiles.Profile) error {
	var tools profiles.Addition
	if p.MCP != nil {
		tools = *p.MCP
	}
	for _, part := range []struct {
		where, key string
		list       []profiles.Template
	}{{"command", "run", p.Run}, {"--resume-cmd", "resume", p.Resume}, {"--mcp-flag", "mcp", tools.Args}} {
		for _, t := range part.list {
			if err := t.CheckIn(part.key); err != nil {
				return fmt.Errorf("%s: argument %s: %w", part.where, t, err)
			}
		}
	}
	return nil
}

// splitShell splits the value of a flag like a shell.
func splitShell(flag, text string) ([]string, error) {
	argv, err := shlex.Split(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s %q: a quotation mark is not closed", flag, text)
	case len(argv) == 0 || argv[0] == "":
		return nil, fmt.Errorf("%s %q: names no command", flag, text)
	}
	return argv, nil
}

func (c CommandLine) addResume(p *profiles.Profile) error {
	if hasPlaceholder(p.Run, "session") {
		p.Session = &profiles.Session{From: "given"}
	}
	if c.Resume == "" {
		return nil
	}
	argv, err := splitShell("--resume-cmd", c.Resume)
	if err != nil {
		return err
	}
	p.Resume = commandTemplates(argv, c.WorkDir)
	if !takesPrompt(p.Resume) && !c.Stdin {
		return fmt.Errorf("--resume-cmd %q: no argument says {prompt}; write {prompt} where the next prompt goes",
			c.Resume)
	}
	if _, err := regexp.Compile(c.SessionPattern); err != nil {
		return fmt.Errorf("--session-pattern %q: %s", c.SessionPattern,
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if !hasPlaceholder(p.Run, "session") && hasPlaceholder(p.Resume, "session") {
		p.Session = &profiles.Session{From: "output", Pattern: cmp.Or(c.SessionPattern, defaultSession)}
	}
	return nil
}

// addTools takes the arguments that offer our tool server.
func (c CommandLine) addTools(p *profiles.Profile) error {
	if c.MCP == "" {
		return nil
	}
	argv, err := splitShell("--mcp-flag", c.MCP)
	if err != nil {
		return err
	}
	p.MCP = &profiles.Addition{Args: toTemplates(argv)}
	if !slices.ContainsFunc(p.MCP.Args, namesToolServer) {
		return fmt.Errorf("--mcp-flag %q: does not say where the tool server is; use {mcp_config}, a JSON file, or {mcp_url}, {mcp_program}, {mcp_args}", c.MCP)
	}
	return nil
}

func namesToolServer(t profiles.Template) bool {
	return slices.ContainsFunc(t.Names(), func(name string) bool { return strings.HasPrefix(name, "mcp_") })
}

func toTemplates(argv []string) []profiles.Template {
	list := make([]profiles.Template, len(argv))
	for i, arg := range argv {
		list[i] = profiles.Template(arg)
	}
	return list
}

// SplitCommand splits the command that a flag names like a shell, and makes the paths
// of files in it absolute, because agents start in an empty folder.
func SplitCommand(flag, text string) ([]string, error) {
	argv, err := splitShell(flag, text)
	if err != nil {
		return nil, err
	}
	for i, t := range commandTemplates(argv, "") {
		argv[i] = string(t)
	}
	return argv, nil
}

// commandTemplates are the arguments of a command with absolute paths. What exists in workDir
// stays as it is, but for the program.
func commandTemplates(argv []string, workDir string) []profiles.Template {
	list := toTemplates(argv)
	script := scriptIndex(argv)
	for i, arg := range argv {
		_, err := os.Stat(filepath.Join(workDir, arg))
		switch isThere := workDir != "" && err == nil; {
		case isThere && i == 0 && isPath(arg) && !filepath.IsAbs(arg):
			list[i] = profiles.Template(filepath.Join(workDir, arg))
		case !isThere:
			list[i] = profiles.Template(absolutePath(arg, i > 0 && i == script))
		}
	}
	return list
}

// absolutePath makes an argument absolute that names a file or, with ./ in front, a
// folder. What could be a word as well, because it has neither a slash nor a dot, is
// taken for a file only when isFile says so.
func absolutePath(arg string, isFile bool) string {
	flag, path := "", arg
	if name, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
		flag, path = name+"=", value
	}
	if filepath.IsAbs(path) || !isFile && !strings.ContainsAny(path, `./`+string(filepath.Separator)) {
		return arg
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() && !strings.HasPrefix(path, "./") && !strings.HasPrefix(path, "../") {
		return arg
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return arg
	}
	return flag + full
}
