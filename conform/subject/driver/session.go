package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/specs"
)

// exitInterrupted is the exit code of a step that was called off, as of a program
// that Ctrl-C ended.
const exitInterrupted = 130

// session is the agent in one case.
type session struct {
	subject *Subject
	room    harness.Room
	command isolate.Command
	process *process // nil while none runs
}

// RunStep implements harness.Session.
func (s *session) RunStep(ctx context.Context, step harness.Step) (evidence.Process, error) {
	p := evidence.Process{Args: s.command.Args}
	said, err := s.runStep(ctx, step)
	p.Stdout = []byte(said.Text)
	unsupported := (*harness.UnsupportedError)(nil)
	switch {
	case errors.As(err, &unsupported), err != nil && s.process == nil:
		return p, err
	case err != nil:
		result := s.process.endProcess()
		if s.process = nil; result.ExitCode == exitUnsupported {
			return p,
				&harness.UnsupportedError{Reason: cmp.Or(lastLine(result.Stderr), "the driver exited with code 127")}
		}
		p.ExitCode, p.Stderr = cmp.Or(max(result.ExitCode, 0), 1), result.Stderr
		p.Stderr = append(p.Stderr, []byte("\nconform: the driver "+err.Error()+"\n")...)
	case said.Type == answerError:
		p.ExitCode, p.Stderr = 1, []byte(cmp.Or(said.Message, "the driver answered error")+"\n")
	case said.Stop == "interrupted":
		p.ExitCode = exitInterrupted
	}
	return p, nil
}

// runStep brings the driver to where the step begins and gives it the prompt.
func (s *session) runStep(ctx context.Context, step harness.Step) (answer, error) {
	if !step.Turn {
		opened, err := s.startConversation(ctx, step.Resume)
		if err != nil || opened.Type == answerError {
			return opened, err
		}
	} else if s.process == nil {
		return answer{Type: answerError, Message: "the driver has ended, and the step goes on in its process"}, nil
	}
	if step.Prompt == "" {
		return answer{Type: answerOK}, nil
	}
	said, err := s.process.sendAndWait(ctx, s.subject.turnTimeout, "turn", map[string]any{"input": step.Prompt},
		step.Interrupt)
	if err != nil {
		return said, err
	}
	return s.acceptAnswer(said, "turn", step.Ability())
}

// startConversation starts a process and opens the conversation there, or goes on
// with that of the process before.
func (s *session) startConversation(ctx context.Context, again bool) (answer, error) {
	kind, members := "open", s.openMembers()
	if again {
		exported, err := s.exportConversation(ctx)
		if err != nil || exported.Type == answerError {
			return exported, err
		}
		kind, members["session"] = "resume", exported.Session
	}
	if s.process != nil {
		s.process.endProcess()
		s.process = nil
	}
	process, _, err := launchDriver(ctx, s.room.Sandbox, s.command)
	if err != nil {
		return answer{}, err
	}
	s.process = process
	if _, err := s.process.sendCommand("x-ignore-me",
		map[string]any{"about": "commands that are not known are ignored"}); err != nil {
		return answer{}, err
	}
	opened, err := s.process.sendAndWait(ctx, answerTimeout, kind, members, nil)
	if err != nil {
		return opened, err
	}
	ability := specs.Ability("")
	if again {
		ability = specs.AbilityResume
	}
	return s.acceptAnswer(opened, kind, ability)
}

// exportConversation asks for the conversation and ends the process.
func (s *session) exportConversation(ctx context.Context) (answer, error) {
	if s.process == nil {
		return answer{Type: answerError, Message: "the driver has ended, so there is no session to resume"}, nil
	}
	exported, err := s.process.sendAndWait(ctx, answerTimeout, "export", nil, nil)
	if err != nil {
		return exported, err
	}
	if exported, err = s.acceptAnswer(exported, "export", specs.AbilityResume); err != nil ||
		exported.Type == answerError {
		return exported, err
	}
	if len(exported.Session) == 0 {
		return answer{Type: answerError, Message: "the driver answered export without session"}, nil
	}
	return exported, s.sayClose(ctx)
}

// sayClose asks the driver to end. One that does so without an answer is fine.
func (s *session) sayClose(ctx context.Context) error {
	_, err := s.process.sendAndWait(ctx, answerTimeout, "close", nil, nil)
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// acceptAnswer turns what the driver does not support into an error, and into a failure
// where it has declared the ability.
func (s *session) acceptAnswer(a answer, kind string, ability specs.Ability) (answer, error) {
	if a.Type != answerUnsupported {
		return a, nil
	}
	if ability != "" && s.subject.about.Can(ability) {
		return answer{Type: answerError,
			Message: fmt.Sprintf("the driver declares %s in hello_ok and answers %s with unsupported: %s", ability,
				kind, a.Reason)}, nil
	}
	return a, &harness.UnsupportedError{Reason: cmp.Or(a.Reason, "the driver does not support "+kind)}
}

// openMembers is what open and resume say of the case. The member that no version has
// shows whether the driver ignores what it does not know.
func (s *session) openMembers() map[string]any {
	r := s.room
	members := map[string]any{
		"case": r.Case.Name(), "provider": r.Case.Target.Provider, "model": r.Model, "effort": r.Effort,
		"system": r.System,
		"work":   r.Work, "x_ignore_me": map[string]any{"nested": []int{1}},
	}
	if url := r.BaseURL[r.Case.Target.Provider]; url != "" {
		members["base_url"] = url
	} else {
		members["proxy"], members["ca_file"] = r.ProxyURL, r.CAFile
	}
	if len(r.Tools.Command) > 0 || r.Tools.URL != "" {
		tools := map[string]any{"name": "conform"}
		if len(r.Tools.Command) > 0 {
			tools["command"], tools["env"] = r.Tools.Command, r.Tools.Env
		}
		if r.Tools.URL != "" {
			tools["url"] = r.Tools.URL
		}
		members["tools"] = tools
	}
	maps.DeleteFunc(members, func(_ string, v any) bool { return v == "" })
	return members
}

// Close implements harness.Session.
func (s *session) Close() error {
	if s.process == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	_ = s.sayClose(ctx) // a driver that does not answer is ended
	s.process.endProcess()
	return nil
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}
