package rkat

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
)

func (a *app) runCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use: "run [PROMPT]", Short: "Start a session",
		Example: "  rkat run \"Name three rivers.\"\n  git diff | rkat run --system \"Review this.\" -\n  rkat run --demo -q --json \"How long is a heron?\" | jq -r .text",
		Long:    "Start a session. The prompt is the argument, or stdin (- or no argument), or\n--prompt-file. The answer is on stdout, one line about the session on stderr.",
		Args:    cli.Args(0, 1, "at most one prompt"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.startSession(cmd, &o, args) },
	}
	a.bindRequestFlags(cmd, &o)
	o.bindPromptFlags(cmd)
	a.bindRunFlags(cmd, &o)
	return cmd
}

func (a *app) resumeCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use: "resume [ID] [PROMPT]", Short: "Go on with a session, with or without a new prompt",
		Example: "  rkat resume --last \"And their lengths.\"\n  rkat resume 01a1feeb --model gpt-5.2 \"Go on.\"",
		Long:    "Go on with a session: ID is its id or the beginning of it. Model, effort and system\nprompt stay, unless a flag says otherwise; another model, also of another provider,\ntakes the conversation over. Without a prompt the model goes on where an answer is\nstill due; - reads the prompt from stdin.",
		Args:    sessionArgs(&o, 1, "and perhaps a prompt"), ValidArgsFunction: a.completeSession,
		RunE: func(cmd *cobra.Command, args []string) error { return a.resumeSession(cmd, &o, args) },
	}
	a.bindRequestFlags(cmd, &o)
	o.bindPromptFlags(cmd)
	a.bindRunFlags(cmd, &o)
	o.bindLastFlag(cmd)
	return cmd
}

func (a *app) compactCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use: "compact [ID]", Short: "Summarise a session now",
		Example: "  rkat compact --last",
		Long:    "Summarise a session now, whatever its size. From then on the model gets the summary\nand the last part of the conversation; the whole of it stays in the session. If that\nwould not make the next request smaller, nothing is changed and the exit code is 1.",
		Args:    sessionArgs(&o, 0, "and nothing else"), ValidArgsFunction: a.completeSession,
		RunE: func(cmd *cobra.Command, args []string) error { o.compact = true; return a.resumeSession(cmd, &o, args) },
	}
	a.bindRequestFlags(cmd, &o)
	a.bindRunFlags(cmd, &o)
	o.bindLastFlag(cmd)
	return cmd
}

// sessionArgs requires a session, by argument or --last, and accepts more arguments
// after it.
func sessionArgs(o *options, more int, behind string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if o.last {
			return cli.Args(0, more, "no session id beside --last "+behind)(cmd, args)
		}
		return cli.Args(1, 1+more, "a session id, or --last, "+behind)(cmd, args)
	}
}

func (a *app) startSession(cmd *cobra.Command, o *options, args []string) error {
	w, err := a.prepareRun(cmd, o)
	if err != nil {
		return err
	}
	defer w.closeAll(cmd.Context())
	text, err := a.readPrompt(cmd.Context(), o, args, true)
	if err != nil {
		return err
	}
	if w.choice, err = chooseModel(w.cfg, o.unlisted); err != nil {
		return err
	}
	return a.runAgent(cmd.Context(), w, func(ctx context.Context, runner *meerkat.Agent) (meerkat.RunResult, error) {
		return runner.Run(ctx, text)
	})
}

func (a *app) resumeSession(cmd *cobra.Command, o *options, args []string) error {
	w, err := a.prepareRun(cmd, o)
	if err != nil {
		return err
	}
	defer w.closeAll(cmd.Context())
	id, text, err := a.findStored(cmd.Context(), w, args)
	if err != nil {
		return err
	}
	return a.runAgent(cmd.Context(), w, func(ctx context.Context, runner *meerkat.Agent) (meerkat.RunResult, error) {
		if o.compact {
			return runner.Compact(ctx, id)
		}
		return runner.Resume(ctx, id, text)
	})
}

// findStored returns the session and the prompt that args mean, and chooses the model
// that continues the session.
func (a *app) findStored(ctx context.Context, w *preparedRun, args []string) (session.ID, string, error) {
	id, args, err := pickSession(ctx, w.store, w.options.last, args)
	if err != nil {
		return id, "", err
	}
	a.session = id
	text, err := a.readPrompt(ctx, w.options, args, false)
	if err != nil {
		return id, "", err
	}
	if flag := w.options.promptFlag(); flag != "" && strings.TrimSpace(text) == "" {
		return id, "", cli.Usage("%s: there is no prompt for it to go with; give one", flag)
	}
	s, err := w.store.Load(ctx, id)
	if err != nil {
		return id, "", err
	}
	w.resumed, w.hasSubAgents = true, offersSubAgents(&s)
	w.choice, err = chooseResumedModel(w.cfg, w.options.unlisted, &s)
	return id, text, err
}

// pickSession returns the session that --last or the first argument means, and the
// other arguments.
func pickSession(ctx context.Context, store session.Store, last bool, args []string) (session.ID, []string, error) {
	if last {
		id, err := session.Newest(ctx, store)
		return id, args, err
	}
	id, err := session.Find(ctx, store, args[0])
	return id, args[1:], err
}

// runAgent builds an agent, runs it, checks the answer and prints the result.
func (a *app) runAgent(ctx context.Context, w *preparedRun,
	do func(context.Context, *meerkat.Agent) (meerkat.RunResult, error)) error {
	runner, err := a.buildAgent(ctx, w)
	if err != nil {
		return err
	}
	file, err := createAnswerFile(w.options.lastMessage)
	if err != nil {
		return err
	}
	result, err := do(ctx, runner)
	var out outcome
	if err == nil && !w.options.compact {
		out.Output, err = w.schema.checkAnswer(result.Text)
		err = withSessionName(string(result.SessionID), err)
	}
	if e := (*provider.Error)(nil); errors.As(err, &e) && e.Kind == provider.ContextTooLong {
		err = fmt.Errorf("%w; resume with a shorter prompt, compact the session or begin anew", err)
	}
	err = errors.Join(err, file.writeAnswer(result.Text, err), w.finishExports(ctx, a.noteLine))
	return a.reportOutcome(out, result, err)
}
