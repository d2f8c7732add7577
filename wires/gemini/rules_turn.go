package gemini

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
)

// turnRules are about who says what after what. Neighbours of one role count as
// one turn (rule G-31).
var turnRules = []rule.Rule[*request]{
	turnRule("ORD-015/roles", "G-5", "roles are user and model; no role is user, function is taken for user",
		"recorded", rule.High, roleUnknown),
	turnRule("ORD-016/user-ends", "GEM-T1", "some content is the user's", "reported", rule.High, speaksAlone),
	turnRule("ORD-016/user-ends", "G-16",
		"from 3.6 Flash and 3.5 Flash-Lite on: the last content is the user's, or ends with a function response",
		"reported", rule.High, prefillUnsupported),
	turnRule("ORD-007/call-turn", "G-13",
		"calls follow a user turn or function responses: the conversation does not begin with them", "reported",
		rule.High, callsFirst),
	turnRule("ORD-003/no-orphan", "G-14",
		"from Gemini 3 on: function responses follow calls at once, or stand behind one of the model's own, which its provider ran", "reported", rule.High, responsesAstray),
	turnRule("ORD-006/one-content", "G-15", "from Gemini 3 on: as many function responses as calls, all in one content",
		"reported", rule.High, responsesMiscounted),
	turnRule("ORD-006/one-content", "GEM-C4", "from Gemini 3 on: function responses have the names of the calls",
		"reported", rule.Medium, responsesMisnamed),
	strictRule(liveRule("G-32", "the id of a response is that of a call, where calls have ids; the words are made up",
		"inferred", rule.Low, generateOnly(idsMismatched))),
}

// refereeRules are what models before Gemini 3 do not refuse, or none does, or another rule.
var refereeRules = []rule.Rule[*request]{
	judged("PAR-010/base64", sureRule("G-3", "the data of a part are base64", "reported"), dataDecoded),
	judged("PAR-008/schema", sureRule("G-12", "the schema of the answer is in the provider's words", "reported"),
		answerSound),
	turnRule("ORD-001/answered", "G-15", "each call has a function response", "reported", rule.High, callsAnswered),
	turnRule("ORD-002/single-result", "G-15", "a call has one function response", "reported", rule.High, answeredOnce),
	turnRule("SIG-016/beside-the-call", "G-3", "the signature of a call stands beside it", "reported", rule.High,
		signaturesBeside),
	turnRule("ORD-005/unique-calls", "G-32", "no two calls have one id", "inferred", rule.Low, callsUnique),
}

// turnRule is a rule about generate requests, at any host.
func turnRule(aspect, id, demand, source string, sure rule.Confidence,
	run func(*request, *rule.Pass)) rule.Rule[*request] {
	return rule.Rule[*request]{
		Info:   rule.Info{ID: id, Demand: demand, Source: source, Confidence: sure, Least: rule.Live},
		Aspect: aspect, Hosts: rule.AnyHost,
		Run: func(q *request, p *rule.Pass) {
			if q.method != count {
				run(q, p)
			}
		},
	}
}

func roleUnknown(q *request, p *rule.Pass) {
	for _, c := range q.contents {
		if p.Observe(); slices.Contains([]string{"", "user", "model", "function"}, c.role) {
			continue
		}
		refusal := invalid("Please use a valid role: user, model.")
		if q.vertex {
			refusal.Details = []byte("[]")
		}
		p.Report(fmt.Sprintf("contents[%d].role", c.at), "role %q is none of the provider's", c.role).Refuse(refusal)
	}
}

// isOneTurn reports whether one side alone speaks.
func (q *request) isOneTurn() bool {
	return !slices.ContainsFunc(q.contents, func(c content) bool { return c.isModels() != q.contents[0].isModels() })
}

func speaksAlone(q *request, p *rule.Pass) {
	if len(q.contents) == 0 || !q.isOneTurn() {
		return
	}
	if p.Observe(); endsWithModel(q) {
		p.Report(fmt.Sprintf("contents[%d]", len(q.contents)-1), "no content of the request is the user's").
			Refuse(invalid("Please ensure that single turn requests end with a user role or the role field is empty."))
	}
}

func prefillUnsupported(q *request, p *rule.Pass) {
	if q.isOneTurn() || !q.model.takes.DoesRefuse("prefill") {
		return
	}
	if p.Observe(); endsWithModel(q) {
		p.Report(fmt.Sprintf("contents[%d]", len(q.contents)-1),
			"the last content is the model's, which %s does not continue", q.model.id).
			Refuse(invalid("Requests ending with a model turn are not supported unless the last part is a function response."))
	}
}

// endsWithModel reports whether the last content is the model's, without a function
// response at its end.
func endsWithModel(q *request) bool {
	if len(q.contents) == 0 || !q.contents[len(q.contents)-1].isModels() {
		return false
	}
	parts := q.contents[len(q.contents)-1].parts
	return len(parts) == 0 || parts[len(parts)-1].data != "functionResponse"
}

// step is a run of the model's contents with calls, and the content after it. Calls
// that the provider has run itself, such as those of its MCP servers, are followed
// by their responses in the run and need no other.
type step struct {
	calls   []part  // for the client
	all     []part  // the provider's own as well
	astray  bool    // a response of the run has no call before it
	answer  content // without parts when nothing follows
	replies []part  // all responses before the model's next content
	from    int     // index of the run's first content
	to      int     // index behind its last
}

// addParts adds the calls of one content, without those that it answers itself.
func (s *step) addParts(parts []part, isPlain bool) {
	for _, p := range parts {
		switch p.data {
		case "functionCall":
			s.calls, s.all = append(s.calls, p), append(s.all, p)
		case "functionResponse":
			i := slices.IndexFunc(s.calls, func(c part) bool { return c.name() == p.name() && c.id() == p.id() })
			if s.astray = s.astray || i < 0; i >= 0 && !isPlain {
				s.calls = slices.Delete(s.calls, i, i+1)
			}
		}
	}
}

// modelSteps are the runs of the model, in order.
func (q *request) modelSteps() []step {
	var all []step
	for i := 0; i < len(q.contents); i++ {
		if !q.contents[i].isModels() {
			continue
		}
		s := step{from: i}
		isPlain := false
		for s.to = i; s.to < len(q.contents) && q.contents[s.to].isModels(); s.to++ {
			isPlain = isPlain || q.plain[s.to]
		}
		for ; i < s.to; i++ {
			s.addParts(q.contents[i].parts, isPlain)
		}
		if i < len(q.contents) {
			s.answer = q.contents[i]
		}
		s.replies = q.repliesFrom(i)
		all = append(all, s)
	}
	return all
}

// repliesFrom lists the responses from content i up to the next one of the model.
func (q *request) repliesFrom(i int) (replies []part) {
	for ; i < len(q.contents) && !q.contents[i].isModels(); i++ {
		replies = append(replies, q.contents[i].partsWith("functionResponse")...)
	}
	return replies
}

// answers reports whether a response is for a call. Before Gemini 3.5 calls have no ids.
func (p part) answers(call part) bool {
	if p.id() != "" && call.id() != "" {
		return p.id() == call.id()
	}
	return p.name() == call.name() && p.name() != ""
}

// callsAnswered leaves a response under a wrong name to GEM-C4.
func callsAnswered(q *request, p *rule.Pass) {
	for _, s := range q.modelSteps() {
		free, open := slices.Clone(s.replies), []part(nil)
		for _, c := range s.calls {
			p.Observe()
			if k := slices.IndexFunc(free, func(r part) bool { return r.answers(c) }); k >= 0 {
				free = slices.Delete(free, k, k+1)
			} else {
				open = append(open, c)
			}
		}
		if n := len(open) - len(free); len(free) > 0 && free[0].id() == "" && n >= 0 {
			open = open[:n]
		}
		for _, c := range open {
			p.Report(c.place(), "tool call %s has no result in what follows it directly", c.label())
		}
	}
}

func answeredOnce(q *request, p *rule.Pass) {
	calls, results := map[string]int{}, map[string]int{}
	for _, c := range q.contents {
		for _, part := range c.parts {
			id := part.id()
			switch {
			case id == "":
			case part.data == "functionCall":
				calls[id]++
			case part.data == "functionResponse":
				p.Observe()
				if results[id]++; calls[id] > 0 && results[id] > calls[id] {
					p.Report(part.place(), "tool call %s is answered again", id)
				}
			}
		}
	}
}

func callsUnique(q *request, p *rule.Pass) {
	first := map[string]part{}
	for c := range q.partsWith("functionCall") {
		if c.id() == "" {
			continue
		}
		p.Observe()
		if was, again := first[c.id()]; again {
			p.Report(c.place(), "call id %s is already used at %s", c.id(), was.place())
		} else {
			first[c.id()] = c
		}
	}
}

func callsFirst(q *request, p *rule.Pass) {
	for range q.partsWith("functionCall") {
		p.Observe()
	}
	steps := q.modelSteps()
	if len(steps) == 0 || steps[0].from > 0 {
		return
	}
	for _, c := range steps[0].all {
		b := p.Report(c.place(), "the content with function call %s does not follow a user content", c.label())
		if len(steps[0].calls) > 0 {
			b.Refuse(invalid("Please ensure that function call turn comes immediately after a user turn or after a function response turn."))
		}
	}
}

// responsesAstray reports a response that answers no call of the step before it; the
// provider looks at where it stands.
func responsesAstray(q *request, p *rule.Pass) {
	report := func(responses, calls []part) {
		orphans := slices.DeleteFunc(slices.Clone(responses),
			func(r part) bool { p.Observe(); return slices.ContainsFunc(calls, r.answers) })
		if len(responses) <= len(calls) && len(orphans) > 0 && orphans[0].id() == "" {
			return // a wrong name is GEM-C4's matter
		}
		for _, o := range orphans {
			p.Report(o.place(), "tool result %s answers no call of the model's turn before it", o.label())
		}
	}
	report(q.repliesFrom(0), nil)
	answers, astray := map[int]bool{}, false
	for _, s := range q.modelSteps() {
		report(s.replies, s.all)
		answers[s.to], astray = len(s.calls) > 0, astray || s.astray
		q.noteSplitAnswers(s, answers)
	}
	for _, c := range q.contents {
		astray = astray || !c.isModels() && len(c.partsWith("functionResponse")) > 0 && !answers[c.at]
	}
	if astray && q.model.needsSignatures() {
		p.Refuse(invalid("Please ensure that function response turn comes immediately after a function call turn."))
	}
}

// noteSplitAnswers notes the contents over which the responses to one step are spread: they
// are too few in the first, rather than astray in the others (GEM-C1).
func (q *request) noteSplitAnswers(s step, answers map[int]bool) {
	missing := len(s.calls) - len(s.answer.partsWith("functionResponse"))
	for i := s.to + 1; missing > 0 && missing < len(s.calls) && i < len(q.contents); i++ {
		n := len(q.contents[i].partsWith("functionResponse"))
		if n == 0 || q.contents[i].isModels() {
			return
		}
		answers[i], missing = true, missing-n
	}
}

const miscounted = "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."

// firstReplies is the number of responses in the first content that holds any.
func (s step) firstReplies() int {
	n := slices.IndexFunc(s.replies, func(r part) bool { return r.content != s.replies[0].content })
	if n < 0 {
		n = len(s.replies)
	}
	return n
}

// responsesMiscounted leaves calls without any response to the rule that each call has one.
func responsesMiscounted(q *request, p *rule.Pass) {
	for _, s := range q.modelSteps() {
		if len(s.calls) == 0 {
			continue
		}
		if n := s.firstReplies(); n > 0 {
			p.Observe()
			switch {
			case n != len(s.calls):
				p.Report(s.replies[0].place(), "after %d function calls, the next content holds %d of the function responses",
					len(s.calls), n)
			case s.replies[0].content != s.to:
				p.Report(s.replies[0].place(),
					"another content stands between the function calls and the function responses").Rule = "G-14"
			case len(s.replies) > n:
				p.Report(s.replies[n].place(), "%d function responses answer %d function calls", len(s.replies),
					len(s.calls)).Rule = "G-14"
			}
		}
		if q.model.needsSignatures() && len(s.answer.partsWith("functionResponse")) != len(s.calls) {
			p.Refuse(invalid(miscounted))
		}
	}
}

func responsesMisnamed(q *request, p *rule.Pass) {
	for _, s := range q.modelSteps() {
		responses := s.answer.partsWith("functionResponse")
		for _, r := range responses {
			isCalled := func(c part) bool { return c.name() == r.name() }
			if len(s.calls) == len(responses) && len(s.replies) == len(responses) &&
				!slices.ContainsFunc(s.calls, isCalled) {
				p.Report(r.place(), "function response %s matches no call by name", r.label())
			}
			hasID := func(c part) bool { return r.id() != "" && c.id() == r.id() }
			isOwn := func(c part) bool { return hasID(c) && isCalled(c) }
			if k := slices.IndexFunc(s.calls, hasID); k >= 0 && slices.ContainsFunc(s.calls, isCalled) &&
				!slices.ContainsFunc(s.calls, isOwn) {
				p.Report(r.place(), "function response %s has the id of the call %s", r.name(),
					s.calls[k].label()).Consequence = "unsafe" // no refusal is known
			}
		}
		if !q.model.needsSignatures() || len(responses) == 0 || sameKeys(s.calls, responses, part.name) {
			continue
		}
		refusal := invalid(miscounted)
		if q.vertex {
			refusal = invalid("Request contains an invalid argument.")
		}
		p.Refuse(refusal)
	}
}

func idsMismatched(q *request, _ rule.Env) *rule.Refusal {
	for _, s := range q.modelSteps() {
		responses := s.answer.partsWith("functionResponse")
		if withID(s.calls) && withID(responses) && !containsKeys(s.calls, responses, part.id) {
			return invalid("Function response id does not match any function call id.")
		}
	}
	return nil
}

// withID reports whether one of some parts has an id: clients may leave ids out, or
// make them up on one side (G-32).
func withID(parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool { return p.id() != "" })
}

// containsKeys reports whether each of some has a key of one of all, used once: who
// counts them is rule G-15.
func containsKeys(all, some []part, key func(part) string) bool {
	left := map[string]int{}
	for _, p := range all {
		left[key(p)]++
	}
	for _, p := range some {
		if left[key(p)]--; left[key(p)] < 0 {
			return false
		}
	}
	return true
}

// sameKeys reports whether both lists have the same keys, in any order.
func sameKeys(a, b []part, key func(part) string) bool {
	keys := func(parts []part) []string {
		all := make([]string, len(parts))
		for i, p := range parts {
			all[i] = key(p)
		}
		slices.Sort(all)
		return all
	}
	return slices.Equal(keys(a), keys(b))
}

var callerRules = []rule.Rule[*request]{
	liveRule("G-1", "a request carries a key, in x-goog-api-key or ?key=, or a token", "recorded", rule.High,
		keyMissing),
	liveRule("G-1",
		"the key is valid; the simulator takes any but one that holds the word invalid or what no key holds",
		"recorded", rule.High, keyInvalid),
}

var modelRules = []rule.Rule[*request]{
	basicRule(liveRule("G-2", "there is the model, and it generates", "recorded", rule.High, modelUnknown)),
}

func serviceName(q *request) string {
	if q.vertex {
		return "aiplatform.googleapis.com"
	}
	return "generativelanguage.googleapis.com"
}

func keyMissing(q *request, _ rule.Env) *rule.Refusal {
	switch {
	case credentialOf(q.Request) != "":
		return nil
	case q.vertex:
		return &rule.Refusal{Status: http.StatusUnauthorized, Type: "UNAUTHENTICATED",
			Message: "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
			Details: script.JSON(script.Array{errorInfo("CREDENTIALS_MISSING", serviceName(q))})}
	}
	return &rule.Refusal{Status: http.StatusForbidden, Type: "PERMISSION_DENIED", Message: unregistered}
}

const (
	unregistered = "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."
	badKey       = "API key not valid. Please pass a valid API key."
)

// keyInvalid answers a bad key with 400, as the API does (reference §1.3).
func keyInvalid(q *request, _ rule.Env) *rule.Refusal {
	if validKey(credentialOf(q.Request)) {
		return nil
	}
	refusal := invalid(badKey)
	refusal.Details = script.JSON(script.Array{
		errorInfo("API_KEY_INVALID", serviceName(q)),
		script.Object{"@type", "type.googleapis.com/google.rpc.LocalizedMessage", "locale", "en-US", "message", badKey},
	})
	return refusal
}

// validKey knows no accounts: a made-up key is as good as another, unless it
// says of itself that it is not.
func validKey(key string) bool {
	odd := strings.IndexFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) >= 0
	return !odd && !strings.Contains(strings.ToLower(key), "invalid")
}

func errorInfo(reason, service string) script.Object {
	return script.Object{"@type", "type.googleapis.com/google.rpc.ErrorInfo", "reason", reason,
		"domain", "googleapis.com", "metadata", script.Object{"service", service}}
}

func modelUnknown(q *request, _ rule.Env) *rule.Refusal {
	if q.served && (q.method == unary || q.method == stream || q.method == count) {
		return nil
	}
	refusal := &rule.Refusal{Status: http.StatusNotFound, Type: "NOT_FOUND", Message: notFound(q.route)}
	if q.vertex {
		refusal.Details = []byte("[]")
	}
	return refusal
}

func notFound(to route) string {
	if to.vertex {
		return "Publisher Model `" + to.resourceName() + "` not found."
	}
	supported := to.method
	if supported == stream {
		supported = unary // the API names the method that the model lacks; both are one
	}
	return to.resourceName() + " is not found for API version " + to.version + ", or is not supported for " +
		supported +
		". Call ModelService.ListModels to see the list of available models and their supported methods."
}
