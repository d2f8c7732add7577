package profiles

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/spelling"
)

var (
	namePattern     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	providerNames   = []string{"anthropic", "openai", "gemini"}
	ingressNames    = []string{IngressMITM, IngressBaseURL}
	sessionSources  = []string{"stdout", "stderr", "output", "file", "given"}
)

// checkTemplates finds unknown placeholders and those that have no value where
// they stand.
func (d *decoder) checkTemplates() {
	for _, t := range d.templates {
		if err := t.CheckIn(structuralKeys(t.path)...); err != nil {
			d.addFault(t.line, "%s: %s", t.path, err)
		}
	}
}

// structuralKeys are the keys of a path that the format defines, without those that
// the author chose: names of variables and files.
func structuralKeys(path string) (keys []string) {
	for key := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' }) {
		if slices.Contains([]string{"env", "files", "args"}, key) {
			break
		}
		keys = append(keys, key)
	}
	return keys
}

// checkProfile finds values that do not exist and keys that do not fit together.
func (d *decoder) checkProfile(p *Profile) {
	if p.Name != "" && !namePattern.MatchString(p.Name) {
		d.faultAt("name", "%q is not a name; use letters, digits, dots and dashes", p.Name)
	}
	d.checkCommand(p)
	d.checkSession(p)
	d.checkIngress("ingress", p.Ingress)
	if p.Exit != "" && p.Exit != ExitAnswered {
		d.faultAt("exit", "%q unknown; use %s", p.Exit, ExitAnswered)
	}
	d.checkAddition("", &p.Always)
	for key, a := range map[string]*Addition{"model": p.Model, "system": p.System, "effort": p.Effort, "max_turns": p.MaxTurns, "mcp": p.MCP, "hosted": p.Hosted, "mitm": p.MITM, "base_url": p.BaseURL} {
		d.checkAddition(key, a)
	}
	d.checkProviders(p)
	for i, pattern := range p.Side {
		d.checkPattern(joinIndex("side", i), pattern)
	}
	for pattern := range p.Unsupported {
		if _, err := path.Match(pattern, ""); err != nil {
			d.faultAt(joinPath("unsupported", pattern), "%q is not a pattern of case names; * stands for any part", pattern)
		}
	}
}

// faultAt notes a fault of the value at a path.
func (d *decoder) faultAt(path, format string, args ...any) {
	line := d.lines[path]
	for line == 0 && path != "" {
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
		line = d.lines[path]
	}
	d.addFault(max(1, line), path+": "+format, args...)
}

func (d *decoder) checkCommand(p *Profile) {
	commands := 0
	for _, argv := range [][]Template{p.Run, p.ACP, p.Driver} {
		if argv != nil {
			commands++
		}
	}
	switch {
	case commands == 0 && len(d.faults) == 0:
		d.addFault(1, `key "run" is missing; it is the command that starts the agent, e.g. run: [my-agent, "{prompt}"]`)
	case commands > 1:
		d.addFault(1, "run, acp and driver stand together; an agent is started in one of these ways")
	case p.Resume != nil && p.Run == nil && commands == 1:
		d.faultAt("resume", "only run has a command for it; an agent of acp or driver resumes by its protocol")
	}
	for key, argv := range map[string][]Template{"run": p.Run, "resume": p.Resume, "version": p.Version, "acp": p.ACP, "driver": p.Driver} {
		if len(argv) > 0 && strings.TrimSpace(string(argv[0])) == "" {
			d.faultAt(key, "the program is empty; name it first")
		}
	}
}

// IsVariable reports whether name can be that of an environment variable.
func IsVariable(name string) bool { return variablePattern.MatchString(name) }

func namesSession(argv []Template) bool {
	return slices.ContainsFunc(argv, func(t Template) bool { return t.Has("session") })
}

func (d *decoder) checkSession(p *Profile) {
	s := p.Session
	if s == nil {
		if namesSession(p.Resume) || namesSession(p.Run) {
			d.addFault(max(1, d.lines["resume"]), `{session} is used, and key "session" does not say how the id is found; e.g. session: {from: stdout, pattern: 'session: (\S+)'}`)
		}
		return
	}
	if s.From != "" && !slices.Contains(sessionSources, s.From) {
		d.faultAt("session.from", "%q unknown; %s", s.From, spelling.Advice(s.From, sessionSources))
	}
	d.checkPattern("session.pattern", s.Pattern)
	switch given := s.From == "given"; {
	case given && s.Pattern != "":
		d.faultAt("session.pattern", "there is nothing to look for in an id that conform gives")
	case given && !namesSession(p.Run):
		d.faultAt("session", "conform gives the id, and run does not name it as {session}")
	case !given && s.From != "" && s.Pattern == "":
		d.faultAt("session", `key "session.pattern" is missing`)
	case !given && namesSession(p.Run):
		d.faultAt("run", "{session} is not known before the first process has ended; use session: {from: given}")
	}
}

func (d *decoder) checkPattern(path, pattern string) {
	if _, err := regexp.Compile(pattern); err != nil {
		d.faultAt(path, "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
}

func (d *decoder) checkIngress(path string, list []string) {
	for i, name := range list {
		if !slices.Contains(ingressNames, name) {
			d.faultAt(joinIndex(path, i), "%q unknown; use %s", name, strings.Join(ingressNames, " or "))
		}
	}
}

func (d *decoder) checkAddition(path string, a *Addition) {
	if a == nil {
		return
	}
	for name := range a.Env {
		if !IsVariable(name) {
			d.faultAt(joinPath(path, joinPath("env", name)), "%q is not the name of a variable", name)
		}
	}
	for i, name := range a.Unset {
		if !IsVariable(name) {
			d.faultAt(joinIndex(joinPath(path, "unset"), i), "%q is not the name of a variable", name)
		}
	}
	for name := range a.Files {
		if !filepath.IsLocal(name) {
			d.faultAt(joinPath(path, joinPath("files", name)), "%q leads out of HOME; files are written below it", name)
		}
	}
}

func (d *decoder) checkProviders(p *Profile) {
	if p.Providers != nil && len(p.Providers) == 0 {
		d.faultAt("providers", "is empty; name one of %s", strings.Join(providerNames, ", "))
	}
	for name, provider := range p.Providers {
		at := joinPath("providers", name)
		if !slices.Contains(providerNames, name) {
			d.faultAt(at, "provider %q unknown; %s", name, spelling.Advice(name, providerNames))
		}
		d.checkIngress(joinPath(at, "ingress"), provider.Ingress)
		d.checkAddition(at, &provider.Always)
		d.checkAddition(joinPath(at, "mitm"), provider.MITM)
		d.checkAddition(joinPath(at, "base_url"), provider.BaseURL)
	}
}

func joinIndex(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
