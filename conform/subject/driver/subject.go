package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
)

// Config describes a driver.
type Config struct {
	// Args is the command line that starts the driver.
	Args []string
	// Environment is the driver's.
	Environment harness.Environment
	// Path is the PATH of the driver. "" is that of this process.
	Path string
	// Isolation is how far the driver is kept apart when it is started first.
	Isolation isolate.Level
}

// Subject is a driver. It is safe for concurrent use.
type Subject struct {
	config      Config
	about       harness.About
	turnTimeout time.Duration
}

// New starts the driver once to learn what it is and can do. It fails, with a sentence
// for the user, when it cannot be started or does not speak the protocol.
func New(ctx context.Context, config Config) (*Subject, error) {
	if len(config.Args) == 0 {
		return nil, errors.New("names no command; write --subject 'driver:COMMAND ARGUMENTS'")
	}
	config.Path = cmp.Or(config.Path, os.Getenv("PATH"))
	s := &Subject{config: config, turnTimeout: harness.DefaultCaseTimeout}
	hello, err := s.probeDriver(ctx)
	if err != nil {
		return nil, err
	}
	s.about, err = aboutDriver(hello, config)
	return s, err
}

// About implements harness.Subject.
func (s *Subject) About() harness.About { return s.about }

// Open implements harness.Subject. The process starts with the first step.
func (s *Subject) Open(_ context.Context, room harness.Room) (harness.Session, error) {
	env, err := s.config.Environment.In(room)
	return &session{subject: s, room: room, command: isolate.Command{Args: s.config.Args, Env: env, Dir: room.Work}},
		err
}

// probeDriver asks the driver what it is.
func (s *Subject) probeDriver(ctx context.Context) (answer, error) {
	room, closeRoom, err := s.config.Environment.FirstRoom(s.config.Isolation, s.config.Path)
	if err != nil {
		return answer{}, err
	}
	defer closeRoom()
	process, hello, err := launchDriver(ctx, room.Sandbox,
		isolate.Command{Args: s.config.Args, Env: room.Env, Dir: room.Work})
	if err != nil {
		return answer{}, err
	}
	_, _ = process.sendAndWait(ctx, answerTimeout, "close", nil, nil) // it is ended in any case
	process.endProcess()
	return hello, nil
}

// launchDriver starts a driver and says hello.
func launchDriver(ctx context.Context, sandbox *isolate.Sandbox, command isolate.Command) (*process, answer, error) {
	running, err := sandbox.Start(ctx, command)
	if err != nil {
		return nil, answer{}, err
	}
	p := &process{running: running, answers: make(chan answer)}
	go p.readAnswers()
	hello, err := p.sendAndWait(ctx, answerTimeout, "hello", map[string]any{"protocol": Protocol}, nil)
	switch {
	case err == nil && hello.Type == answerHello:
		return p, hello, nil
	case err == nil:
		err = fmt.Errorf("answered hello with %s: %s", hello.Type, cmp.Or(hello.Message, hello.Reason))
	}
	result := p.endProcess()
	if why := lastLine(result.Stderr); why != "" {
		err = fmt.Errorf("%w (exit code %d): %s", err, result.ExitCode, why)
	}
	return nil, answer{}, err
}

// aboutDriver describes the agent by what hello was answered.
func aboutDriver(hello answer, config Config) (harness.About, error) {
	about := harness.About{Subject: report.Subject{
		Kind: "driver", Name: cmp.Or(hello.Name, filepath.Base(config.Args[0])), Version: hello.Version,
	}}
	for _, name := range hello.Abilities {
		if ability := specs.Ability(name); slices.Contains(drivenAbilities, ability) {
			about.Abilities = append(about.Abilities, ability)
		}
	}
	for _, name := range hello.Providers {
		if wires.Find(name) == nil {
			return about, fmt.Errorf("names the provider %q in hello_ok; use %s", name, wires.List(wires.Names()))
		}
	}
	about.Providers, about.Ingress = append([]string(nil), hello.Providers...), append([]string(nil), hello.Ingress...)
	return about, nil
}

// drivenAbilities are those that the protocol has messages for.
var drivenAbilities = []specs.Ability{specs.AbilityTools, specs.AbilityResume, specs.AbilityTurns,
	specs.AbilityInterrupt,
	specs.AbilityModel, specs.AbilitySystem, specs.AbilityHosted, specs.AbilityAllowlist}
