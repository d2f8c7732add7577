package check

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/wire"
)

// recoveryRules judge what an agent does after a failure that is not about the form of its
// request, which is ERR-002's (R48).
var recoveryRules = map[string]rule{
	"REC-001/waits":        retryWaits,
	"REC-002/not-again":    hopelessNotRepeated,
	"REC-003/shorter":      overflowIsShortened,
	"REC-004/same-results": retryKeepsResults,
	"REC-004/from-there":   retryGoesOn,
	"REC-004/runs-once":    toolsRunOnce,
}

// isTransient reports whether the same request may pass later.
func (x *exchange) isTransient() bool {
	switch x.reply.End {
	case wire.Cut, wire.Failed, wire.Absent:
		return true
	case wire.Refused:
		switch x.refusal.Kind {
		case RefusedRate, RefusedOverload, RefusedServer, RefusedConflict:
			return !x.Missed
		case RefusedQuota: // Gemini has the same words for a rate and for a quota of the day
			return !x.Missed && (askedWait(x) > 0 || x.wire.Has(wires.QuotaIsRate) && !namesDailyQuota(x))
		}
	}
	return false
}

// namesDailyQuota reports whether an error of Gemini says that a quota of the day is spent.
func namesDailyQuota(x *exchange) bool {
	for _, detail := range x.reply.Err.List("details") {
		for _, violation := range detail.List("violations") {
			if strings.Contains(violation.Any("quotaId", "quota_id").Text(), "PerDay") {
				return true
			}
		}
	}
	return false
}

// nextAttempt returns the first later exchange of the process that asks x's request again,
// nil for none.
func (s *Trace) nextAttempt(x *exchange) *exchange {
	for _, later := range s.x[x.n+1:] {
		if later.Process == x.Process && later.Provider == x.Provider && isSameRequest(x, later) {
			return later
		}
	}
	return nil
}

// retryWaits: a request that was turned down with a time comes back no earlier.
func retryWaits(s *Trace, r *report) {
	for _, x := range s.x {
		wait := askedWait(x)
		if x.reply.End != wire.Refused || !x.isTransient() || wait <= 0 || x.req.Op != wire.Generate {
			continue
		}
		next := s.nextAttempt(x)
		if next == nil {
			continue
		}
		passed, isKnown := waited(x, next)
		if !isKnown {
			continue
		}
		r.addObserved(1)
		until, err := http.ParseTime(x.Response.Header.Get("Retry-After"))
		if isDue := err == nil && !next.Started.Before(until); passed < wait && !isDue { // a client has its own clock
			r.addBare(next, wire.At(nil, "retry-after"), "",
				"exchange %d was turned down (%d) for %s, and the request comes again after %s at most",
				x.Index, x.Response.Status, wait, passed.Round(time.Millisecond))
		}
	}
}

// waited returns the longest time that can have passed between the refusal of x and the request of next, unless next was
// sent before x was refused. Where a recording says when requests began, the refusal came after x had begun. Elsewhere the
// dates of the two answers tell. Times of whole seconds may be a second off.
func waited(x, next *exchange) (passed time.Duration, isKnown bool) {
	from, to := x.Started, next.Started
	if from.IsZero() || to.IsZero() || from.Equal(to) {
		from, to = answerDate(x), answerDate(next)
		return to.Sub(from) + time.Second, !from.IsZero() && !to.IsZero() && !to.Before(from)
	}
	slack := 100 * time.Millisecond
	if from.Nanosecond() == 0 && to.Nanosecond() == 0 {
		slack = time.Second
	}
	return to.Sub(from) + slack, !to.Add(slack).Before(from.Add(x.Took))
}

func answerDate(x *exchange) time.Time {
	at, err := http.ParseTime(x.Response.Header.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return at
}

// askedWait is how long the provider asks to wait, 0 where it does not say: in
// milliseconds, seconds or by a date in headers, with Gemini in the details of the error.
func askedWait(x *exchange) time.Duration {
	h := x.Response.Header
	if ms, err := strconv.Atoi(h.Get("Retry-After-Ms")); err == nil {
		return time.Duration(ms) * time.Millisecond
	}
	after := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(after); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(after); err == nil && !answerDate(x).IsZero() {
		return at.Sub(answerDate(x))
	}
	for _, detail := range x.reply.Err.List("details") {
		if wait, err := time.ParseDuration(detail.Any("retryDelay", "retry_delay").Text()); err == nil {
			return wait
		}
	}
	return 0
}

// hopelessKinds are refusals that no repetition changes, and how often the same request
// may be seen: a key may have been renewed once.
var hopelessKinds = map[RefusalKind]int{RefusedQuota: 1, RefusedModel: 1, RefusedMissing: 1, RefusedKey: 2}

// hopelessNotRepeated: what was refused for the account, the key or the model is not asked
// again unchanged.
func hopelessNotRepeated(s *Trace, r *report) {
	for _, x := range s.x {
		if x.reply.End != wire.Refused || x.Missed || x.req.Op != wire.Generate || hopelessKinds[x.refusal.Kind] == 0 ||
			x.isTransient() || x.Request.Body == nil {
			continue
		}
		r.addObserved(1)
		earlier := 0
		for _, old := range s.x[:x.n] {
			if old.reply.End == wire.Refused && old.refusal.Kind == x.refusal.Kind && isRepetition(old, x) &&
				old.Response.Header.Get("X-Should-Retry") != "true" {
				earlier++
			}
		}
		if earlier >= hopelessKinds[x.refusal.Kind]+x.unrelated() {
			r.addBare(x, wire.At(nil, ""), "", "the request was refused %s before (%s) and is sent again: %s",
				times(earlier), x.refusal.Kind, x.refusal.Words)
		}
	}
}

// isRepetition reports whether x asks again what old asked. Recordings of tests hold calls of
// several tests: where no process is known, another client or trace is another caller.
func isRepetition(old, x *exchange) bool {
	for name, form := range callerHeaders {
		was, is := form.FindString(old.Request.Header.Get(name)), form.FindString(x.Request.Header.Get(name))
		if x.Process < 0 && was != "" && is != "" && was != is {
			return false
		}
	}
	return isSameRequest(old, x)
}

var callerHeaders = map[string]*regexp.Regexp{"User-Agent": regexp.MustCompile(`.+`),
	"Traceparent": regexp.MustCompile(`^\w+-\w+`)}

// unrelated is how many equal requests before x say nothing: one where no process is known and
// x only begins a conversation, because a second test may begin the same one.
func (x *exchange) unrelated() int {
	retries, _ := strconv.Atoi(x.Request.Header.Get("X-Stainless-Retry-Count"))
	if x.Process >= 0 || retries > 0 || x.req.Stateful || len(x.runs) > 0 {
		return 0
	}
	return 1
}

// overflowIsShortened: what was too long for the model comes back shorter.
func overflowIsShortened(s *Trace, r *report) {
	var long []*exchange
	for _, x := range s.x {
		if !x.asksForAnswer() || x.kind.isSide() {
			continue
		}
		for _, old := range long {
			if old.Provider != x.Provider || old.req.Model != x.req.Model ||
				!continuesRequest(old, x) && !isSameRequest(old, x) {
				continue
			}
			r.addObserved(1)
			if again := x.reply.End == wire.Refused && x.refusal.Kind == RefusedLength; again &&
				len(x.Request.Body) >= len(old.Request.Body) {
				r.addBare(x, wire.At(nil, ""), x.wire.RuleFor(wires.ContextFull),
					"exchange %d was too long for the model with %d bytes, and the conversation goes on with %d: %s",
					old.Index, len(old.Request.Body), len(x.Request.Body), x.refusal.Words)
				break
			}
		}
		if x.reply.End == wire.Refused && !x.Missed && x.refusal.Kind == RefusedLength {
			long = addRecent(long, x)
		}
	}
}

// retryKeepsResults: a request that is tried again holds the results that it held. Another
// result for the same call means that the tool ran again.
func retryKeepsResults(s *Trace, r *report) {
	var before *exchange
	for _, x := range s.x {
		if !x.asksForAnswer() || x.kind.isSide() {
			continue
		}
		if before != nil && before.isTransient() && before.Provider == x.Provider && before.Process == x.Process &&
			before.conversation == x.conversation {
			r.compareResults(before, x)
		}
		before = x
	}
}

// compareResults adds a finding for a call whose result in then differs in now.
func (r *report) compareResults(then, now *exchange) {
	was := map[string]*wire.Item{}
	for it := range wire.Each(then.req.Items) {
		if it.What == wire.Result && it.ID != "" {
			was[it.ID] = it
		}
	}
	for it := range wire.Each(now.req.Items) {
		old := was[it.ID]
		if it.What != wire.Result || old == nil {
			continue
		}
		r.addObserved(1)
		if path, what := diffMembers(now.Provider, old.Node, it.Node, "cache_control"); path != "=" {
			r.addBare(now, it.Place, "",
				"exchange %d failed, and the result of %s has changed when it is tried again: %s", then.Index,
				cutText(it.ID, 64), strings.TrimSpace(path+" "+what))
		}
	}
}

// retryGoesOn: after a failure the run goes on where it was. A request that was answered
// with calls long ago, sent again, makes the model call, and the agent run, the same tools
// a second time.
func retryGoesOn(s *Trace, r *report) {
	for _, failed := range s.x {
		if !failed.asksForAnswer() || !failed.isTransient() || failed.kind.isSide() {
			continue
		}
		answered := answeredBefore(failed)
		if len(answered) == 0 {
			continue
		}
		for _, next := range s.x[failed.n+1:] {
			if next.Provider != failed.Provider || next.Process != failed.Process || !next.asksForAnswer() ||
				next.kind.isSide() {
				continue
			}
			r.addObserved(1)
			for _, old := range answered {
				if isSameRequest(old, next) && !s.goesOnBeside(old, next) {
					r.addBare(next, wire.At(nil, ""), "",
						"exchange %d failed with results of tools in it, and the run starts over with the request of exchange %d, whose calls were answered", failed.Index, old.Index)
				}
			}
			break
		}
	}
}

// goesOnBeside reports whether a request after next goes on from the reply of old and holds
// nothing that next brought: another session with the same prompt sent next.
func (s *Trace) goesOnBeside(old, next *exchange) bool {
	return slices.ContainsFunc(s.x[next.n+1:], func(x *exchange) bool {
		return !isAncestor(next, x) &&
			slices.ContainsFunc(x.replays, func(l *link) bool { return l.from == old && len(l.extra) == 0 })
	})
}

// answeredBefore lists the exchanges whose replies' calls are answered in x.
func answeredBefore(x *exchange) (list []*exchange) {
	isCall := func(it wire.Item) bool { return it.What == wire.Call }
	for _, l := range x.replays {
		if slices.ContainsFunc(l.from.reply.Items, isCall) {
			list = append(list, l.from)
		}
	}
	return list
}

// cassetteRules judge an agent against its own recording.
var cassetteRules = map[string]rule{
	"CAS-001/recorded": asRecorded,
}

// asRecorded reports requests that the cassette does not hold: the agent has
// changed. The refusal of the replaying proxy says what is different.
func asRecorded(s *Trace, r *report) {
	for _, x := range s.x {
		if !x.asksForAnswer() {
			continue
		}
		r.addObserved(1)
		if x.Missed {
			r.addFinding(x, wire.At(nil, ""), "", "request is not the recorded one: %s", x.reply.Err.Text("message"))
		}
	}
}
