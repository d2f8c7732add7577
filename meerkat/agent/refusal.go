package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/repair"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// maxRepairs is how often one call is changed after refusals.
const maxRepairs = 4

// handleRefusal stores that the provider refused the request for its form, and sends it
// again without what was refused, if that can be told. What is too long is summarised
// where that can help. Otherwise what was added since the last reply is left out of the
// next request, so that the session still works. It returns false when the run cannot go
// on by itself.
func (p *transition) handleRefusal(in failureInput) (goesOn bool) {
	s := &p.state
	var failure *provider.Error
	if !errors.As(in.err, &failure) {
		return false
	}
	wasRefused := errors.As(in.err, new(*refusedBeforeError))
	switch {
	case s.canShortenAfter(in.err):
		p.compactAfterOverflow(in)
		return true
	case wasRefused, failure.IsContentRefusal():
		if s.compactReason == "" {
			p.quarantine(in)
		}
		return false
	case !failure.IsFormRefusal():
		return false
	}
	s.noteAccount(handoff.WithOrganization(s.settings.account, failure.Organization))
	fix, ok := repair.Decide(s.refusedRequest(in))
	if !ok || s.current.repairs >= maxRepairs {
		p.quarantine(in)
		return false
	}
	record := s.refusalRecord(in)
	record.Repair = &fix
	p.addRecords(record)
	p.flushRecords()
	p.sendRepaired(in, fix)
	return true
}

// quarantine leaves what was added since the last reply out of the next requests.
func (p *transition) quarantine(in failureInput) {
	record := p.state.refusalRecord(in)
	if fix, found := repair.Quarantine(p.state.refusedRequest(in)); found && p.state.compactReason == "" {
		record.Repair = &fix
	}
	p.addRecords(record)
	p.flushRecords()
}

// refusedRequest is what repairs are decided from.
func (s *state) refusedRequest(in failureInput) repair.Refused {
	var failure *provider.Error
	_ = errors.As(in.err, &failure) // nil for a reply that a filter withheld
	return repair.Refused{
		Err: failure, Request: &s.current.request, Body: in.body, History: s.session.History(), Target: s.target,
	}
}

// refusalRecord is what is stored of a refusal.
func (s *state) refusalRecord(in failureInput) session.Refusal {
	record := session.Refusal{
		At: in.at, RunID: s.runID, Provider: s.target.Provider, Model: s.target.Model.Model,
		Request: digestBody(in.body), Message: in.err.Error(), TooLong: isTooLong(in.err),
	}
	var failure *provider.Error
	if errors.As(in.err, &failure) {
		record.Status = failure.Status
	}
	if before := (*refusedBeforeError)(nil); errors.As(in.err, &before) {
		record.Message = before.words
	}
	return record
}

// refusedBeforeError is the cause of an error about a request that was not sent again.
type refusedBeforeError struct{ words string }

// Error says what to do.
func (e *refusedBeforeError) Error() string {
	return "this request was refused before and is not sent again; change the prompt, the settings or the model. The refusal was: " + e.words
}

// sendRepaired sends the call again, built without what was refused.
func (p *transition) sendRepaired(in failureInput, fix handoff.Repair) {
	s := &p.state
	before := s.current
	atOnce := int64(0)
	p.emitEvent(Event{
		Type: Retrying, DelayMS: &atOnce, MaxAttempts: maxRepairs + 1, Error: in.err.Error(),
		ErrorKind: ErrorKind(in.err), Reason: describeRepair(fix),
	})
	if p.checkBudgetAndWarn(in.at); p.hasEnded() {
		return
	}
	if s.compactReason != "" {
		p.requestSummary(in.at)
		s.current.attempt, s.current.repairs = before.attempt+1, before.repairs+1
		return
	}
	degraded, err := s.prepareCall(s.session.History())
	if err != nil {
		p.finishRun(in.at, errors.Join(in.err, err))
		return
	}
	s.current.attempt, s.current.repairs = before.attempt+1, before.repairs+1
	s.current.degraded = before.degraded
	p.reportDegradations(degraded)
	p.sendRequest(in.at)
}

// describeRepair says in words what the next request is without.
func describeRepair(fix handoff.Repair) string {
	switch fix.Kind {
	case handoff.RepairTokens:
		return "sent again without continuity tokens"
	case handoff.RepairOpaque:
		return "sent again without blocks that only the provider understands"
	case handoff.RepairMedia:
		if fix.Name != "" {
			return "sent again without the image or file that was refused"
		}
		return "sent again without images and files"
	case handoff.RepairTool:
		return "sent again without the tool " + fix.Name
	case handoff.RepairParameter:
		return "sent again without " + fix.Name
	default:
		return "sent again without the results of the last tools"
	}
}

// noteAccount notes whose tokens the provider's answers are.
func (s *state) noteAccount(account string) {
	if account != "" {
		s.settings.account, s.target.Account = account, account
	}
}

// digestBody names a request body, "" for none.
func digestBody(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// checkRefusedBefore returns an error when the provider has refused this very request to
// the same model, which Gemini's bodies do not name.
// It costs nothing in a session without refusals.
func (d *driver) checkRefusedBefore(req *provider.Request) error {
	refusals := d.state.session.Refusals
	if len(refusals) == 0 {
		return nil
	}
	body, err := d.cfg.Client.Render(req)
	if err != nil {
		return nil //nolint:nilerr // the call says so itself
	}
	digest := digestBody(body)
	i := slices.IndexFunc(refusals, func(r session.Refusal) bool {
		return r.Request != "" && r.Request == digest && r.Provider == d.cfg.Client.Provider() &&
			r.Model == d.state.target.Model.Model
	})
	if i < 0 {
		return nil
	}
	kind := provider.InvalidRequest
	if refusals[i].TooLong {
		kind = provider.ContextTooLong
	}
	return &provider.Error{Kind: kind, Provider: d.cfg.Client.Provider(), Err: &refusedBeforeError{refusals[i].Message}}
}

// refusedBody returns the body of a request that was refused for its form or its length,
// nil for any other failure.
func (d *driver) refusedBody(req *provider.Request, err error) []byte {
	var failure *provider.Error
	if !errors.As(err, &failure) || !failure.IsFormRefusal() && !isTooLong(err) {
		return nil
	}
	body, err := d.cfg.Client.Render(req)
	if err != nil {
		return nil
	}
	return body
}

// isPromptRefused reports whether the conversation ends with a prompt that the provider
// refused: it is not sent again.
func (s *state) isPromptRefused() bool {
	last := len(s.session.Messages) - 1
	if last < 0 || s.session.Messages[last].Role != transcript.RoleUser {
		return false
	}
	return slices.ContainsFunc(s.session.History().Repairs, func(r handoff.Repair) bool {
		return r.Kind == handoff.RepairMessages && r.From <= last && last < r.Through &&
			r.Provider == s.settings.prefix.Provider
	})
}
