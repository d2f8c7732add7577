package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// Request is the first request that a run would send.
type Request struct {
	// SessionID is empty for a session that does not exist yet.
	SessionID session.ID
	Provider  string
	Model     string
	// Body is what would go over the wire, byte for byte.
	Body []byte
	// Degraded lists the parts of the conversation that the provider would not
	// get.
	Degraded []handoff.Degradation
}

// ErrToolsFirst says that a resumed run would run tools before it sends a
// request, so the request cannot be known.
var ErrToolsFirst = errors.New(
	"interrupted tools would run again before the request; preview it with policy " + string(AskModel),
)

// Preview returns what Run would send for prompt. Nothing is sent and nothing is
// stored.
func Preview(cfg Config, prompt string) (Request, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return Request{}, err
	}
	if strings.TrimSpace(prompt) == "" {
		return Request{}, ErrNothingToContinue
	}
	if err := errors.Join(checkText("prompt", prompt), cfg.checkOptions(nil)); err != nil {
		return Request{}, err
	}
	id, err := cfg.NewID()
	if err != nil {
		return Request{}, err
	}
	h := session.Header{
		Version: session.Version, ID: id, Created: cfg.currentTime(), Provider: cfg.Client.Provider(),
		Model: cfg.Model,
	}
	s, err := session.Load(h)
	if err != nil {
		return Request{}, err
	}
	r, err := cfg.previewRequest(s, prompt)
	r.SessionID = "" // it was never stored
	return r, err
}

// PreviewResume returns what Resume would send. Nothing is sent and nothing is
// stored; the session may be locked by another process.
func PreviewResume(ctx context.Context, cfg Config, id session.ID, prompt string) (Request, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return Request{SessionID: id}, err
	}
	s, err := cfg.Store.Load(ctx, id)
	if err == nil {
		err = errors.Join(s.Whole(), checkText("prompt", prompt), cfg.checkOptions(s.Prefix))
	}
	if err != nil {
		return Request{SessionID: id}, err
	}
	r, err := cfg.previewRequest(s, prompt)
	if err != nil {
		return r, &RunError{id, err}
	}
	return r, nil
}

// previewRequest takes the first step of a run and performs none of its effects.
func (c Config) previewRequest(s session.Session, prompt string) (Request, error) {
	r := Request{SessionID: s.ID, Provider: c.Client.Provider(), Model: c.Model}
	set := c.runSettings()
	set.operations = false // what they will have come to by then is not known
	_, effects := step(state{settings: set, session: s}, beginInput{
		at: c.currentTime(), runID: "preview", prompt: prompt,
	})
	for _, e := range effects {
		switch e := e.(type) {
		case eventEffect:
			if e.event.Degradation != nil {
				r.Degraded = append(r.Degraded, *e.event.Degradation)
			}
		case callEffect:
			var err error
			r.Model = e.request.Model
			r.Body, err = c.Client.Render(&e.request)
			return r, err
		case toolsEffect:
			out := make([]string, len(e.calls))
			for i, c := range e.calls {
				out[i] = c.Name
			}
			return r, fmt.Errorf("%w: %s", ErrToolsFirst, strings.Join(out, ", "))
		case finishEffect:
			return r, e.err
		}
	}
	return r, errors.New("the run would do nothing")
}
