package subject

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/profiles"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
)

// Command is an agent of which each prompt is a process. It implements
// [harness.Subject] and is safe for concurrent use.
type Command struct {
	profile *profiles.Profile
	version string
}

// NewCommand returns the agent of a profile with a command to run. version is what
// reports say; see [Preflight].
func NewCommand(p *profiles.Profile, version string) *Command {
	return &Command{profile: p, version: version}
}

// About implements harness.Subject.
func (c *Command) About() harness.About {
	p := c.profile
	about := harness.About{
		Abilities: abilitiesOf(p), Ingress: p.Ingress, Unsupported: p.Unsupported, Tools: p.Tools,
		Side:         sidePatterns(p),
		PromisesExit: p.Exit == profiles.ExitAnswered,
	}
	for _, name := range wires.Names() {
		if _, ok := p.Providers[name]; ok {
			about.Providers = append(about.Providers, name)
		}
	}
	about.Subject = report.Subject{Name: p.Name, Version: c.version, Kind: "command"}
	return about
}

// sidePatterns are those of the key side, which loading a profile has checked.
func sidePatterns(p *profiles.Profile) (list []*regexp.Regexp) {
	for _, pattern := range p.Side {
		if re, err := regexp.Compile(pattern); err == nil {
			list = append(list, re)
		}
	}
	return list
}

// WithProfile returns an agent that speaks a protocol with what its profile says of it:
// its name, the ways in that work, the cases that do not apply, its side traffic.
func WithProfile(agent harness.Subject, p *profiles.Profile) harness.Subject {
	about := agent.About()
	about.Name, about.Ingress, about.Unsupported = p.Name, p.Ingress, p.Unsupported
	about.Side = sidePatterns(p)
	return &described{agent, about}
}

// described is an agent of which something else is said.
type described struct {
	harness.Subject
	about harness.About
}

// About implements harness.Subject.
func (d *described) About() harness.About { return d.about }

// abilitiesOf are what the profile of a command lets the harness do.
func abilitiesOf(p *profiles.Profile) (list []specs.Ability) {
	for _, a := range []struct {
		ability specs.Ability
		has     bool
	}{
		{specs.AbilityTools, p.MCP != nil}, {specs.AbilityMCP, p.MCP != nil}, {specs.AbilityResume, p.Resume != nil},
		{specs.AbilityModel, p.Model != nil}, {specs.AbilitySystem, p.System != nil},
		{specs.AbilityMaxTurns, p.MaxTurns != nil}, {specs.AbilityHosted, p.Hosted != nil},
	} {
		if a.has {
			list = append(list, a.ability)
		}
	}
	return list
}

// Open implements harness.Subject: it writes the files of the profile.
func (c *Command) Open(_ context.Context, room harness.Room) (harness.Session, error) {
	s := &commandSession{plan: newPlan(c.profile, room)}
	files, err := s.fillFiles()
	if err != nil {
		return nil, err
	}
	for path, text := range files {
		if err := writeBelow(path, text); err != nil {
			return nil, fmt.Errorf("%s: %w", c.profile.Name, err)
		}
	}
	if s.env, err = s.fillEnvironment(); err != nil {
		return nil, err
	}
	if c.profile.Session != nil && c.profile.Session.From == "given" {
		id, err := uuid.NewRandomFromReader(rand.Reader)
		if err != nil {
			return nil, err
		}
		s.session = id.String()
	}
	return s, nil
}

func writeBelow(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// commandSession is a command in one case.
type commandSession struct {
	plan
	env     []string
	session string // the id, "" before it is known
}

// Close implements harness.Session. Every step has ended its process.
func (s *commandSession) Close() error { return nil }

// errNoSession says why a session cannot be resumed.
var errNoSession = errors.New("the first process did not say the id of its session where the profile looks for it (key session)")

// RunStep implements harness.Session.
func (s *commandSession) RunStep(ctx context.Context, step harness.Step) (evidence.Process, error) {
	command := s.profile.Run
	if step.Resume {
		command = s.profile.Resume
	}
	if step.Resume && s.session == "" && hasPlaceholder(command, "session") {
		return evidence.Process{ExitCode: -1, Stderr: []byte(errNoSession.Error())}, nil
	}
	process, err := s.runCommand(ctx, command, step)
	if s.session == "" && s.profile.Session != nil {
		s.session = findSession(*s.profile.Session, process, s.room.Home)
	}
	return process, err
}

// runCommand runs one process to its end. A command without {prompt} reads the
// prompt from its standard input.
func (s *commandSession) runCommand(ctx context.Context, command []profiles.Template,
	step harness.Step) (evidence.Process, error) {
	asked := s.plan
	asked.room.Effort = step.Effort // which the user may not ask for again
	argv, err := asked.fillArguments(command, step.Prompt, s.session)
	if err != nil {
		return evidence.Process{}, err
	}
	c := isolate.Command{Args: argv, Env: s.env, Dir: s.room.Work, Limits: isolate.Limits{Time: s.profile.Timeout}}
	if !takesPrompt(command) {
		c.Stdin = strings.NewReader(step.Prompt + "\n")
	}
	result, err := s.room.Sandbox.Run(ctx, c)
	remark := result.Remark()
	if result.TimedOut && err == nil {
		remark += fmt.Sprintf(" of %v (timeout in its profile)", s.profile.Timeout)
	}
	return evidence.Process{Args: argv, ExitCode: result.ExitCode, Remark: remark, Stdout: result.Stdout,
		Stderr: result.Stderr}, err
}

// takesPrompt reports whether a command is given the prompt as an argument.
func takesPrompt(command []profiles.Template) bool {
	return hasPlaceholder(command, "prompt")
}

func hasPlaceholder(command []profiles.Template, name string) bool {
	return slices.ContainsFunc(command, func(t profiles.Template) bool { return t.Has(name) })
}

// maxSessionFiles bounds how many files below HOME are looked at for an id.
const maxSessionFiles = 10_000

// findSession returns the id of the session that a process left, "" when there is
// none.
func findSession(s profiles.Session, p evidence.Process, home string) string {
	pattern, err := regexp.Compile(s.Pattern)
	if err != nil {
		return "" // the profile was checked when it was loaded
	}
	switch s.From {
	case "stdout":
		return lastMatch(pattern, p.Stdout)
	case "stderr":
		return lastMatch(pattern, p.Stderr)
	case "output":
		return cmp.Or(lastMatch(pattern, p.Stdout), lastMatch(pattern, p.Stderr))
	case "file":
		for _, path := range newestFiles(home) {
			if id := lastMatch(pattern, []byte(path)); id != "" {
				return id
			}
		}
	}
	return ""
}

// lastMatch is the first group of the last match, or all of it.
func lastMatch(pattern *regexp.Regexp, text []byte) string {
	all := pattern.FindAllSubmatch(text, -1)
	if len(all) == 0 {
		return ""
	}
	groups := all[len(all)-1]
	if len(groups) > 1 {
		return string(groups[1])
	}
	return string(groups[0])
}

// newestFiles lists the files below a folder by their paths in it, with slashes,
// the newest first.
func newestFiles(dir string) []string {
	type file struct {
		path string
		at   time.Time
	}
	var files []file
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || len(files) >= maxSessionFiles {
			return nil //nolint:nilerr // what cannot be read names no session
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // the file is gone
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			files = append(files, file{filepath.ToSlash(name), info.ModTime()})
		}
		return nil
	})
	slices.SortStableFunc(files, func(a, b file) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.path, b.path)) })
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.path
	}
	return paths
}
