package rkat

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/session"
)

func (a *app) renderCommand() *cobra.Command {
	o := options{keyless: true}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "render [ID] [PROMPT]", Short: "Show the request that resume, or run, would send",
		Example: "  rkat render --last --model gpt-5.2 \"Go on.\"\n  rkat render --new --json \"Name three rivers.\"",
		Long:    "Show the request that resume would send, or with --new that run would, byte for byte\non stdout. On stderr is what the provider would not get of the conversation. Nothing\nis sent and nothing is stored; a key is not needed. With --model the request is that\nof a hand-over to another model. Tool servers are started, for their tools are part\nof the request; no tool is called.",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.newSession {
				return cli.Args(0, 1, "at most a prompt after --new")(cmd, args)
			}
			return sessionArgs(&o, 1, "and perhaps a prompt")(cmd, args)
		},
		ValidArgsFunction: a.completeSession,
		RunE: func(cmd *cobra.Command,
			args []string) error {
			return a.renderRequest(cmd, &o, args, asJSON)
		},
	}
	a.bindRequestFlags(cmd, &o)
	o.bindPromptFlags(cmd)
	o.bindLastFlag(cmd)
	cmd.Flags().BoolVar(&o.newSession, "new", false, "of a new session, as rkat run would start it")
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

func (a *app) renderRequest(cmd *cobra.Command, o *options, args []string, asJSON bool) error {
	if o.newSession && o.last {
		return cli.Usage("--new: there is no new session beside --last; drop one of the two")
	}
	w, err := a.prepareRun(cmd, o)
	if err != nil {
		return err
	}
	defer w.closeAll(cmd.Context())
	r, err := a.previewRequest(cmd.Context(), w, args)
	if err != nil {
		return err
	}
	if asJSON {
		return a.writeLine(newRendered(&r))
	}
	for _, d := range r.Degraded {
		a.noteLine("%s", describeLoss(d))
	}
	out := a.JSON()
	if !a.StdoutIsTerminal() {
		out = a.Data() // a program gets the very bytes
	}
	if _, err := fmt.Fprintf(out, "%s\n", r.Body); err != nil {
		return fmt.Errorf("stdout: %w", err)
	}
	return nil
}

func (a *app) previewRequest(ctx context.Context, w *preparedRun, args []string) (agent.Request, error) {
	if w.options.newSession {
		text, err := a.readPrompt(ctx, w.options, args, true)
		if err != nil {
			return agent.Request{}, err
		}
		if w.choice, err = chooseModel(w.cfg, w.options.unlisted); err != nil {
			return agent.Request{}, err
		}
		made, err := a.buildAgent(ctx, w)
		if err != nil {
			return agent.Request{}, err
		}
		return made.Preview(text)
	}
	id, text, err := a.findStored(ctx, w, args)
	if err != nil {
		return agent.Request{}, err
	}
	made, err := a.buildAgent(ctx, w)
	if err != nil {
		return agent.Request{}, err
	}
	return made.PreviewResume(ctx, id, text)
}

// describeLoss says a loss in one line.
func describeLoss(d handoff.Degradation) string {
	where := "the conversation"
	if d.Message >= 0 {
		where = fmt.Sprintf("message %d", d.Message)
	}
	if d.Block >= 0 {
		where += fmt.Sprintf(", block %d", d.Block)
	}
	return fmt.Sprintf("not sent as it is (%s): %s: %s", d.Rule, where, d.Reason)
}

// rendered is the JSON of render.
type rendered struct {
	Schema    string                `json:"schema"`
	SessionID *session.ID           `json:"session_id"` // null for a new one
	Provider  string                `json:"provider"`
	Model     string                `json:"model"`
	Request   json.RawMessage       `json:"request"`
	Degraded  []handoff.Degradation `json:"degraded"`
}

func newRendered(r *agent.Request) rendered {
	out := rendered{"rkat.render.v1", nil, r.Provider, r.Model, r.Body, append([]handoff.Degradation{}, r.Degraded...)}
	if r.SessionID != "" {
		out.SessionID = &r.SessionID
	}
	return out
}
