package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/meerkat-go/conformance/meerkat/artifact"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// retrySeconds is when a client that was refused for now should come again.
const retrySeconds = "5"

// newProblem returns the error of a status. detail names the object and says what to do.
func newProblem(status int, detail string) *huma.ErrorModel {
	return &huma.ErrorModel{Status: status, Title: http.StatusText(status), Detail: detail}
}

// writeProblem writes an error outside of an operation.
func writeProblem(w http.ResponseWriter, detail string, status int) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(newProblem(status, detail))
}

// problemOf returns the error for a client, nil for nil.
func problemOf(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		err = errNoAnswer
	}
	status := statusOf(err)
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(huma.StatusError)):
		return err
	case status == http.StatusInternalServerError:
		return newProblem(status, "server: "+err.Error()+"; try again, and look at its log")
	case status == http.StatusServiceUnavailable || errors.As(err, new(*server.FullError)) ||
		errors.As(err, new(*server.SteeringFullError)):
		return huma.ErrorWithHeaders(newProblem(status, err.Error()), http.Header{"Retry-After": {retrySeconds}})
	default:
		return newProblem(status, err.Error())
	}
}

// answerTime is how long the sessions and the backend may take for something that is only
// read: a table may be locked, or a disk be slow.
const answerTime = 10 * time.Second

// errNoAnswer says that this time is over.
var errNoAnswer = fmt.Errorf("sessions: no answer within %s; try again, and look at the disk or database", answerTime)

// boundAnswer gives a request its answerTime.
func boundAnswer(c huma.Context, next func(huma.Context)) {
	ctx, cancel := context.WithTimeout(c.Context(), answerTime)
	defer cancel()
	next(huma.WithContext(c, ctx))
}

// statusOf returns the status of an error of the backend or of the store.
func statusOf(err error) int {
	switch {
	case errors.Is(err, session.ErrNotFound), errors.Is(err, artifact.ErrNotFound), errors.As(
		err, new(*server.RunNotFoundError),
	):
		return http.StatusNotFound
	case errors.As(err, new(*server.BusyError)), errors.As(err, new(*server.NotRunningError)),
		errors.As(
			err, new(*session.LockedError),
		), errors.As(err, new(*session.VersionError)), errors.Is(err, session.ErrTornFork),
		errors.Is(err, artifact.ErrDamaged), errors.As(err, new(*artifact.VersionError)):
		return http.StatusConflict
	case errors.As(err, new(*server.FullError)), errors.As(
		err, new(*server.SteeringFullError),
	), errors.As(err, new(*session.BudgetExceededError)):
		return http.StatusTooManyRequests
	case errors.As(err, new(*server.KeyReusedError)), errors.As(err, new(*catalog.UnsupportedModel)):
		return http.StatusUnprocessableEntity
	case errors.Is(err, server.ErrDraining), errors.As(err, new(*session.StorageError)), errors.Is(err, errNoAnswer):
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// maxDetails bounds what an answer says to be invalid, so that no request has an answer
// that is larger.
const maxDetails = 16

// nameInvalid puts the first member that is invalid into the detail of an error, and
// drops values: a client knows what it sent.
func nameInvalid(_ huma.Context, _ string, v any) (any, error) {
	problem, ok := v.(*huma.ErrorModel)
	if !ok || len(problem.Errors) == 0 {
		return v, nil
	}
	problem.Errors = problem.Errors[:min(len(problem.Errors), maxDetails)]
	first := problem.Errors[0]
	for _, e := range problem.Errors {
		e.Value = nil
	}
	location := first.Location
	if location == "" {
		location = "body"
	}
	problem.Detail = fmt.Sprintf("%s: %s; see /openapi.json", location, first.Message)
	return problem, nil
}

// headerWriter keeps the header of an answer and nothing else.
type headerWriter http.Header

// Header implements http.ResponseWriter.
func (w headerWriter) Header() http.Header { return http.Header(w) }

// Write implements http.ResponseWriter.
func (w headerWriter) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements http.ResponseWriter.
func (w headerWriter) WriteHeader(int) {}

// offeredTypes are the media types that what a request asks for may have.
func offeredTypes(r *http.Request) []string {
	switch {
	case strings.HasSuffix(r.URL.Path, "/events"):
		return []string{"text/event-stream"}
	case strings.Contains(r.URL.Path, "/artifacts/"):
		return []string{textType, binaryType}
	case r.URL.Path == "/metrics":
		return []string{textType}
	default:
		return []string{"application/json"}
	}
}

// isAccepted reports whether the client takes what it asks for.
func isAccepted(r *http.Request) bool {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if strings.TrimSpace(accept) == "" {
		return true
	}
	return slices.ContainsFunc(offeredTypes(r), func(offered string) bool {
		kind, _, _ := strings.Cut(offered, "/")
		for each := range strings.SplitSeq(accept, ",") {
			media, parameters, err := mime.ParseMediaType(each)
			quality, qerr := strconv.ParseFloat(parameters["q"], 64)
			refused := qerr == nil && quality == 0
			if err == nil && !refused && (media == offered || media == "*/*" || media == kind+"/*") {
				return true
			}
		}
		return false
	})
}
