package rest

import (
	"context"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/meerkat-go/conformance/meerkat/artifact"
)

// Artifact is a result of a sub-agent that is too large for the conversation.
type Artifact struct {
	ID        string     `json:"id"`
	Bytes     int64      `json:"bytes"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"From then on it is not found; absent: it is kept."`
}

type (
	listArtifactsOutput struct {
		Body struct {
			Artifacts []Artifact `json:"artifacts" nullable:"false" doc:"The oldest first."`
		}
	}
	artifactInput struct {
		SessionPath
		Artifact string `path:"artifact" maxLength:"100" doc:"The id of an artifact of the session, or of one that it was forked from or is a sub-agent of."`
	}
	artifactOutput struct {
		ContentType string `header:"Content-Type"`
		Body        []byte
	}
)

// The media types of artifacts.
const (
	textType   = "text/plain"
	binaryType = "application/octet-stream"
)

func (s *Server) addArtifactOperations() {
	huma.Register(
		s.api,
		newOperation(
			"listArtifacts", http.MethodGet, "/sessions/{id}/artifacts", "operations",
			"List the large results of a session", 404, 409,
		),
		s.listArtifacts,
	)
	o := newOperation(
		"getArtifact", http.MethodGet, "/sessions/{id}/artifacts/{artifact}", "operations",
		"Return the bytes of a large result", 404, 409,
	)
	binary := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	o.Responses = map[string]*huma.Response{"200": {
		Description: "The bytes. They are text if they are UTF-8.",
		Content: map[string]*huma.MediaType{
			textType: {Schema: &huma.Schema{Type: huma.TypeString}}, binaryType: binary,
		},
	}}
	huma.Register(s.api, o, s.getArtifact)
}

func (s *Server) listArtifacts(ctx context.Context, in *SessionPath) (*listArtifactsOutput, error) {
	found, _, err := s.loadSession(ctx, in.ID)
	if err != nil {
		return nil, problemOf(err)
	}
	out := &listArtifactsOutput{}
	out.Body.Artifacts = []Artifact{}
	if s.host.Artifacts == nil {
		return out, nil
	}
	refs, err := s.host.Artifacts.List(ctx, found.ID)
	for _, r := range refs {
		out.Body.Artifacts = append(out.Body.Artifacts, newArtifact(r))
	}
	return out, problemOf(err)
}

func newArtifact(r artifact.Ref) Artifact {
	out := Artifact{ID: string(r.ID), Bytes: r.Size, CreatedAt: r.Created}
	if r.TTL != nil {
		end := r.Created.Add(time.Duration(*r.TTL) * time.Second)
		out.ExpiresAt = &end
	}
	return out
}

func (s *Server) getArtifact(ctx context.Context, in *artifactInput) (*artifactOutput, error) {
	found, _, err := s.loadSession(ctx, in.ID)
	if err != nil {
		return nil, problemOf(err)
	}
	id, err := artifact.ParseID(in.Artifact)
	if err != nil {
		return nil, newProblem(http.StatusNotFound, err.Error())
	}
	if s.host.Artifacts == nil {
		return nil, newProblem(
			http.StatusNotFound, "artifact "+string(id)+": this server keeps none; start it with sub-agents",
		)
	}
	data, _, err := s.host.Artifacts.Get(ctx, found.ID, id)
	if err != nil {
		return nil, problemOf(err)
	}
	out := &artifactOutput{binaryType, data}
	if utf8.Valid(data) {
		out.ContentType = textType + "; charset=utf-8"
	}
	return out, nil
}
