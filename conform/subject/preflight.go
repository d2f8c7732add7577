package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/profiles"
)

// Checks are what Preflight looks at. Config.Subject is ignored.
type Checks struct {
	harness.Config
	// Ingress are the ways in to try. Nil: mitm.
	Ingress []string
	// FirstIngress ends the preflight with the first way in that works.
	FirstIngress bool
	// FindProvider leaves the choice of a provider to the agent and keeps what it chose.
	FindProvider bool
}

// preflightTimeout bounds one prompt of the preflight. A case that is given less time, or
// more than by default, says how slow the agent is.
const preflightTimeout = 90 * time.Second

// promptTimeout is how long one prompt of the preflight may take, where a case may take
// caseTimeout.
func promptTimeout(caseTimeout time.Duration) time.Duration {
	if caseTimeout <= 0 || caseTimeout > preflightTimeout && caseTimeout <= harness.DefaultCaseTimeout {
		return preflightTimeout
	}
	return caseTimeout
}

// ErrNoProgram is wrapped where the agent's program cannot be started at all.
var ErrNoProgram = errors.New("cannot be started")

// Preflight asks the agent of a profile one prompt through each way in, before any
// case. It returns the agent with its version. problem, where not "", says why no case
// can be run: the agent that is returned then runs none and gives it as the reason.
// The error wraps [ErrNoProgram], wraps a [*harness.GuardError] where the agent sent a
// key that looks real, is that of ctx where it ended, or is one of the harness. With a
// guard or an end of ctx, the agent is returned as well, for the report.
func Preflight(ctx context.Context, p *profiles.Profile, c Checks) (agent harness.Subject, problem string, err error) {
	_, command := p.Command()
	if why := missingProgram(p, string(command[0]), c.Path); why != "" {
		return nil, "", fmt.Errorf("%s: %s: %w", command[0], why, ErrNoProgram)
	}
	found, err := probeAll(ctx, p, c)
	if cause := (*harness.GuardError)(nil); errors.As(err, &cause) || err != nil && ctx.Err() != nil {
		return NewCommand(p, found.version), "", err
	}
	if err != nil {
		return nil, "", err
	}
	chosen := *p
	if c.FindProvider {
		chosen.Providers = found.providers
	}
	agent = NewCommand(&chosen, found.version)
	if len(found.providers) > 0 {
		return &limited{agent, found.problems}, "", nil
	}
	problem = found.arrived
	for _, way := range c.waysIn() {
		problem = cmp.Or(problem, found.problems[way])
	}
	if c.FindProvider {
		chosen.Providers = p.Providers
	}
	return &limited{agent, map[string]string{"": problem}}, problem, nil
}

func (c Checks) waysIn() []string {
	if c.Ingress == nil {
		return []string{profiles.IngressMITM}
	}
	return c.Ingress
}

// findings are what the preflight found out.
type findings struct {
	version   string
	providers map[string]profiles.Provider
	problems  map[string]string // by way in
	arrived   string            // the problem of a way in by which the agent sent something, best an API that is not judged
}

func probeAll(ctx context.Context, p *profiles.Profile, c Checks) (findings, error) {
	f := findings{providers: map[string]profiles.Provider{}, problems: map[string]string{}}
	c.Subject = NewCommand(p, "")
	c.CaseTimeout = promptTimeout(c.CaseTimeout)
	runner, err := harness.NewRunner(c.Config)
	if err != nil {
		return f, err
	}
	defer runner.Close()
	for i, way := range c.waysIn() {
		if _, ok := providerFor(p, way); !ok {
			continue // the cases of this way in say so
		}
		ask := harness.Probe{Prompts: []string{canaryPrompt}, Ingress: way}
		if i == 0 {
			ask.Before = func(ctx context.Context, room harness.Room) { f.version = findVersion(ctx, p, room) }
		}
		seen, err := c.probeWay(ctx, runner, p, ask)
		if err != nil {
			return f, err
		}
		if i == 0 && seen.probed.Early > 0 {
			f.version = "" // it took --version for a prompt
		}
		for _, name := range seen.providers {
			f.providers[name] = p.Providers[name]
		}
		if len(seen.providers) == 0 {
			f.problems[way] = seen.explainSilence(way, c.Isolation.Enforced)
			if seen.unjudged != "" || f.arrived == "" && len(seen.others) > 0 {
				f.arrived = f.problems[way]
			}
		} else if c.FirstIngress {
			break
		}
	}
	return f, nil
}

// probeWay asks the agent by one way in. An agent that chooses its provider itself is led to
// none; where no call is accepted then, because a base URL belongs to one provider, it is
// asked again, with that of the provider that it called.
func (c Checks) probeWay(ctx context.Context, runner *harness.Runner, p *profiles.Profile,
	ask harness.Probe) (sighting, error) {
	if !c.FindProvider {
		ask.Provider, _ = providerFor(p, ask.Ingress)
	}
	for {
		seen := newSighting(runner.Probe(ctx, ask))
		if err := runner.Tripped(); err != nil {
			return seen, fmt.Errorf("%s: %w", p.Name, err)
		}
		if ctx.Err() != nil || ask.Provider != "" || len(seen.providers) == 0 || seen.isAccepted() {
			return seen, ctx.Err()
		}
		ask.Provider, ask.Before = seen.providers[0], nil
	}
}

// canaryPrompt asks for nothing but an answer.
const canaryPrompt = `Say “conform canary”.`

// providerFor is the first provider that the profile reaches by a way in.
func providerFor(p *profiles.Profile, way string) (string, bool) {
	for _, name := range slices.Sorted(maps.Keys(p.Providers)) {
		ways := p.Providers[name].Ingress
		if ways == nil {
			ways = p.Ingress
		}
		if ways == nil || slices.Contains(ways, way) {
			return name, true
		}
	}
	return "", false
}

// limited is an agent that cannot come in by some ways. The reason for "" holds for all.
type limited struct {
	harness.Subject
	problems map[string]string
}

// About implements harness.Subject.
func (l *limited) About() harness.About {
	about := l.Subject.About()
	if len(l.problems) == 0 {
		return about
	}
	about.Unsupported = maps.Clone(about.Unsupported)
	if about.Unsupported == nil {
		about.Unsupported = map[string]string{}
	}
	for way, why := range l.problems {
		if way == "" {
			about.Unsupported["*"] = why
		} else {
			about.Ingress = withoutWay(about.Ingress, way)
		}
	}
	return about
}

// withoutWay are the ways in but one.
func withoutWay(ways []string, one string) []string {
	if ways == nil {
		ways = []string{profiles.IngressMITM, profiles.IngressBaseURL}
	}
	return slices.DeleteFunc(slices.Clone(ways), func(way string) bool { return way == one })
}

// ComesInBy reports whether [Preflight] saw no problem with a way in.
func ComesInBy(agent harness.Subject, way string) bool {
	l, ok := agent.(*limited)
	return !ok || l.problems[way] == "" && l.problems[""] == ""
}

// Problems says why an agent that [Preflight] returned does not come in by some ways.
func Problems(agent harness.Subject) (lines []string) {
	if l, ok := agent.(*limited); ok {
		for _, way := range slices.Sorted(maps.Keys(l.problems)) {
			line := l.problems[way]
			if way != "" {
				line = way + " does not work: " + line
			}
			lines = append(lines, line)
		}
	}
	return lines
}
