package rkat

import (
	"context"
	"errors"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// Exit codes; cli.ExitCodes says what they mean.
const (
	exitError       = 1
	exitLimit       = 2
	exitRefused     = 3
	exitTruncated   = 4
	exitUsage       = 64
	exitCorrupt     = 65
	exitUnavailable = 69
	exitStorage     = 74
	exitDenied      = 77
	exitInterrupted = 130
)

// reportAsJSON puts an error on stdout where stdout is for machines, unless it is
// there already. The error is printed on stderr in any case.
func (a *app) reportAsJSON(err error) {
	if !isError[*reportedError](err) && a.format != formatText {
		_ = a.reportOutcome(outcome{}, agent.Result{}, err)
	}
}

// classifyError returns the exit code of an error and its kind in JSON. The error of
// a run has the kind that the events and the session name.
func classifyError(err error) (code int, kind string) {
	code, kind = classifyByType(err)
	var run *agent.RunError
	if errors.As(err, &run) && !isError[*schemaError](err) && !isError[*session.CorruptError](err) {
		kind = agent.ErrorKind(run.Err)
	}
	return code, kind
}

func classifyByType(err error) (code int, kind string) {
	for _, is := range []func(error) (int, string, bool){
		usageCode, modelCode, toolServerCode, runCode, sessionCode, providerCode,
	} {
		if code, kind, ok := is(err); ok {
			return code, kind
		}
	}
	if errors.Is(err, context.Canceled) {
		return exitInterrupted, "interrupted"
	}
	return exitError, "error"
}

// isError reports whether err is or wraps a T.
func isError[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

func usageCode(err error) (int, string, bool) {
	switch {
	case isError[*agent.PromptTooLongError](err):
		return exitUsage, "prompt_too_long", true
	case isError[*cli.UsageError](err), errors.Is(
		err, agent.ErrNothingToContinue,
	), isError[*provider.RequestError](err), isError[*agent.TextError](err):
		return exitUsage, "usage", true
	}
	return 0, "", false
}

func modelCode(err error) (int, string, bool) {
	switch {
	case isError[*catalog.UnsupportedModel](err):
		return exitDenied, "unsupported_model", true
	case isError[*meerkat.MissingKeyError](err):
		return exitDenied, "missing_key", true
	case isError[*meerkat.BadKeyError](err):
		return exitDenied, "bad_key", true
	}
	return 0, "", false
}

// toolServerCode classifies errors of MCP servers as not available, except for those that
// were not waited for.
func toolServerCode(err error) (int, string, bool) {
	if !errors.Is(err, context.Canceled) && isError[*mcp.ServerError](err) {
		return exitUnavailable, "tool_server", true
	}
	return 0, "", false
}

func runCode(err error) (int, string, bool) {
	switch {
	case isError[*agent.TurnLimitError](err):
		return exitLimit, "turn_limit", true
	case isError[*session.BudgetExceededError](err):
		return exitLimit, "budget_exceeded", true
	case isError[*agent.InterruptedError](err):
		return exitError, "tools_interrupted", true
	case isError[*schemaError](err):
		return exitError, "output_schema", true
	case isError[*agent.RefusedError](err):
		return exitRefused, "refused", true
	case isError[*agent.TruncatedError](err):
		return exitTruncated, "truncated", true
	case isError[*agent.StopError](err):
		return exitError, "stop_reason", true
	case isError[*agent.PrefixError](err):
		return exitCorrupt, "prefix_changed", true
	case isError[*agent.MismatchError](err):
		return exitUsage, "session_mismatch", true
	}
	return 0, "", false
}

func sessionCode(err error) (int, string, bool) {
	switch {
	case isError[*session.CorruptError](err):
		return exitCorrupt, "session_corrupt", true
	case errors.Is(err, session.ErrTornFork):
		return exitCorrupt, "session_corrupt", true
	case isError[*session.VersionError](err):
		return exitCorrupt, "session_newer", true
	case isError[*session.StorageError](err):
		return exitStorage, "storage", true
	case isError[*session.LockedError](err):
		return exitError, "session_locked", true
	case isError[*session.AmbiguousError](err):
		return exitUsage, "session_ambiguous", true
	case errors.Is(err, session.ErrNotFound):
		return exitUsage, "session_not_found", true
	}
	return 0, "", false
}

// providerCode classifies errors of the provider. A stream that ended early counts
// as not available.
func providerCode(err error) (int, string, bool) {
	var e *provider.Error
	if !errors.As(err, &e) {
		return 0, "", false
	}
	var code int
	switch e.Kind {
	case provider.RateLimited, provider.Overloaded, provider.Timeout, provider.ConnectionReset, provider.ServerError,
		provider.Incomplete:
		code = exitUnavailable
	case provider.Authentication, provider.ModelNotFound:
		code = exitDenied
	case provider.ContentFiltered:
		code = exitRefused
	case provider.ContextTooLong:
		code = exitTruncated
	case provider.Cancelled:
		code = exitInterrupted
	default: // InvalidRequest, StreamParse, LimitExceeded, Unknown
		code = exitError
	}
	return code, string(e.Kind), true
}
