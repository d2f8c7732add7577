package rest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/meerkat-go/conformance/meerkat/ops"
)

// Directive is what a client says to a run that is under way.
type Directive struct {
	Message string `json:"message" minLength:"1" maxLength:"32768" doc:"For the model, at most 32,768 bytes."`
}

// Steering is a directive that waits for the next turn of its run.
type Steering struct {
	ID        string    `json:"id" format:"uuid" doc:"The event steering_applied has it when the model gets the directive."`
	SessionID string    `json:"session_id" format:"uuid"`
	RunID     string    `json:"run_id" format:"uuid"`
	Status    string    `json:"status" enum:"queued,applied,expired,failed"`
	CreatedAt time.Time `json:"created_at"`
}

type (
	steerInput struct {
		SessionPath
		Body Directive
	}
	steerOutput struct{ Body *Steering }
)

func (s *Server) addSteerOperation() {
	o := newOperation(
		"steerSession", http.MethodPost, "/sessions/{id}/steer", "runs", "Say something to the run of a session", 404,
		409, 413, 429,
	)
	o.DefaultStatus = http.StatusAccepted
	o.Description = "The model gets the message before its next turn, after [STEERING]. It expires if the run ends without another turn."
	huma.Register(s.api, o, s.steerSession)
}

func (s *Server) steerSession(ctx context.Context, in *steerInput) (*steerOutput, error) {
	message := in.Body.Message
	if strings.TrimSpace(message) == "" || len(message) > ops.MaxDirective {
		return nil, newProblem(
			http.StatusUnprocessableEntity,
			fmt.Sprintf("body.message: it has %d bytes; say something, in at most %d", len(message), ops.MaxDirective),
		)
	}
	found, _, err := s.loadSession(ctx, in.ID)
	if err != nil {
		return nil, problemOf(err)
	}
	m, err := s.backend.Steer(ctx, found.ID, message)
	if err != nil {
		return nil, problemOf(err)
	}
	return &steerOutput{&Steering{m.ID, string(m.Session), string(m.Run), string(m.Status), m.Created}}, nil
}
