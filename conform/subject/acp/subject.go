package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/specs"
)

// Config describes an agent that speaks the protocol.
type Config struct {
	// Args is the command line that starts the agent.
	Args []string
	// Environment is the agent's.
	Environment harness.Environment
	// Providers are those that the agent is run with. Nil: those whose models it
	// offers, or all when that shows nothing.
	Providers []string
	// Permissions answers the agent's questions for permission. "" is [Allow].
	Permissions Permissions
	// Path is the PATH of the agent. "" is that of this process.
	Path string
	// Isolation is how far the agent is kept apart when it is started first.
	Isolation isolate.Level
	// AnswerTimeout is how long the agent may take to answer anything but a prompt. 0:
	// a minute and a half. A prompt is bounded by the case.
	AnswerTimeout time.Duration
}

// Subject is an agent that speaks the protocol. It is safe for concurrent use.
type Subject struct {
	config Config
	about  harness.About
}

// New starts the agent once, in folders of its own, to learn what it is and can do. It
// fails, with a sentence for the user, when the agent cannot be started, does not speak
// the protocol or wants a person to log in.
func New(ctx context.Context, config Config) (*Subject, error) {
	if len(config.Args) == 0 {
		return nil, errors.New("acp: names no command; write --subject 'acp:COMMAND ARGUMENTS'")
	}
	config.Permissions = cmp.Or(config.Permissions, Allow)
	config.Path = cmp.Or(config.Path, os.Getenv("PATH"))
	config.AnswerTimeout = cmp.Or(config.AnswerTimeout, answerTimeout)
	s := &Subject{config: config}
	if err := s.probeAgent(ctx); err != nil {
		return nil, fmt.Errorf("acp: %s %w", config.Args[0], err)
	}
	return s, nil
}

// About implements harness.Subject.
func (s *Subject) About() harness.About { return s.about }

// Open implements harness.Subject.
func (s *Subject) Open(_ context.Context, room harness.Room) (harness.Session, error) {
	files, err := openWorkFolder(room.Work)
	if err != nil {
		return nil, err
	}
	env, err := s.config.Environment.In(room)
	if err != nil {
		return nil, err
	}
	command := isolate.Command{Args: s.config.Args, Env: env, Dir: room.Work}
	start := func(ctx context.Context) (*agent, error) { return s.startAgent(ctx, room.Sandbox, command, files) }
	return &session{room: room, files: files, args: s.config.Args, start: start}, nil
}

// probeAgent asks the agent what it is and can do, and whether it opens a session.
func (s *Subject) probeAgent(ctx context.Context) error {
	room, closeRoom, err := s.config.Environment.FirstRoom(s.config.Isolation, s.config.Path)
	if err != nil {
		return err
	}
	defer closeRoom()
	command := isolate.Command{Args: s.config.Args, Dir: room.Work, Env: room.Env}
	agent, err := s.startAgent(ctx, room.Sandbox, command, nil)
	if err != nil {
		return err
	}
	defer agent.endProcess()
	session, err := agent.openSession(ctx, sdk.AgentMethodSessionNew,
		map[string]any{"cwd": room.Work, "mcpServers": []sdk.McpServer{}})
	if err != nil {
		return agent.endBecause(err)
	}
	s.about = aboutAgent(&agent.hello, &session, s.config)
	return nil
}

// startAgent starts the agent, which may read and write files in a folder.
func (s *Subject) startAgent(ctx context.Context, sandbox *isolate.Sandbox, command isolate.Command,
	files *workFolder) (*agent, error) {
	return launchAgent(ctx, sandbox, command, &client{permissions: s.config.Permissions, files: files},
		s.config.AnswerTimeout)
}

// aboutAgent describes an agent by its answers. Every agent takes several prompts, can
// be interrupted and starts MCP servers: the protocol demands it. Its models are its
// own choice; few agents offer those of a case.
func aboutAgent(h *hello, o *opened, config Config) harness.About {
	about := harness.About{
		Subject: report.Subject{Kind: "acp", Version: h.AgentInfo.Version,
			Name: cmp.Or(h.AgentInfo.Title, h.AgentInfo.Name, filepath.Base(config.Args[0]))},
		Abilities: []specs.Ability{specs.AbilityTools, specs.AbilityMCP, specs.AbilityTurns, specs.AbilityInterrupt},
		Providers: config.Providers,
	}
	if h.AgentCapabilities.LoadSession || h.hasResume() {
		about.Abilities = append(about.Abilities, specs.AbilityResume)
	}
	if about.Providers == nil {
		about.Providers = providersOf(o.modelIDs())
	}
	return about
}
