package gemini

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
)

// turnRules are about who says what after what. Neighbours of one role count as
// one turn (rule G-31).
var turnRules = []rule.Rule[*request]{
	{Info: rule.Info{ID: "G-5", Demand: "roles are user and model; no role is user, function is taken for user", Source: "recorded", Confidence: rule.High, Least: rule.Live}, Broken: generateOnly(roleUnknown)},
	{Info: rule.Info{ID: "GEM-T1", Demand: "some content is the user's", Source: "reported", Confidence: rule.High, Least: rule.Live}, Broken: generateOnly(speaksAlone)},
	{Info: rule.Info{ID: "G-16", Demand: "from 3.6 Flash and 3.5 Flash-Lite on: the last content is the user's, or ends with a function response", Source: "reported", Confidence: rule.High, Least: rule.Live}, Broken: generateOnly(prefillUnsupported)},
	{Info: rule.Info{ID: "G-13", Demand: "calls follow a user turn or function responses: the conversation does not begin with them", Source: "reported", Confidence: rule.High, Least: rule.Live}, Broken: generateOnly(callsFirst)},
	{Info: rule.Info{ID: "G-14", Demand: "from Gemini 3 on: function responses follow calls at once, or stand behind one of the model's own, which its provider ran", Source: "reported", Confidence: rule.High, Least: rule.Live}, Broken: generateOnly(responsesAstray)},
	{Info: rule.Info{ID: "G-15", Demand: "from Gemini 3 on: as many function responses as calls, all in one content", Source: "reported", Confidence: rule.High, Least: rule.Live}, Broken: generateOnly(responsesMiscounted)},
	{Info: rule.Info{ID: "GEM-C4", Demand: "from Gemini 3 on: function responses have the names of the calls", Source: "reported", Confidence: rule.Medium, Least: rule.Live}, Broken: generateOnly(responsesMisnamed)},
	{Info: rule.Info{ID: "G-32", Demand: "the id of a response is that of a call, where calls have ids; the words are made up", Source: "inferred", Confidence: rule.Low, Least: rule.Strict}, Broken: generateOnly(idsMismatched)},
}

func roleUnknown(q *request, _ rule.Env) *rule.Refusal {
	for _, c := range q.contents {
		if !slices.Contains([]string{"", "user", "model", "function"}, c.role) {
			refusal := invalid("Please use a valid role: user, model.")
			if q.vertex {
				refusal.Details = []byte("[]")
			}
			return refusal
		}
	}
	return nil
}

func speaksAlone(q *request, _ rule.Env) *rule.Refusal {
	if !endsWithModel(q) || slices.ContainsFunc(q.contents, func(c content) bool { return !c.isModels() }) {
		return nil
	}
	return invalid("Please ensure that single turn requests end with a user role or the role field is empty.")
}

func prefillUnsupported(q *request, _ rule.Env) *rule.Refusal {
	if !endsWithModel(q) || !q.model.atLeast(3, 6) && (!q.model.atLeast(3, 5) || !strings.Contains(q.model.Name, "-lite")) {
		return nil
	}
	return invalid("Requests ending with a model turn are not supported unless the last part is a function response.")
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
	calls  []part
	astray bool    // a response of the run has no call before it
	answer content // without parts when nothing follows
	from   int     // index of the run's first content
	to     int     // index behind its last
}

// addParts adds the calls of one content, without those that it answers itself.
func (s *step) addParts(parts []part) {
	for _, p := range parts {
		switch p.data {
		case "functionCall":
			s.calls = append(s.calls, p)
		case "functionResponse":
			i := slices.IndexFunc(s.calls, func(c part) bool { return c.name() == p.name() && c.id() == p.id() })
			if s.astray = s.astray || i < 0; i >= 0 {
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
		for ; i < len(q.contents) && q.contents[i].isModels(); i++ {
			s.addParts(q.contents[i].parts)
		}
		if s.to = i; i < len(q.contents) {
			s.answer = q.contents[i]
		}
		all = append(all, s)
	}
	return all
}

func callsFirst(q *request, _ rule.Env) *rule.Refusal {
	if steps := q.modelSteps(); len(steps) > 0 && steps[0].from == 0 && len(steps[0].calls) > 0 {
		return invalid("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
	}
	return nil
}

func responsesAstray(q *request, _ rule.Env) *rule.Refusal {
	if !q.model.needsSignatures() {
		return nil
	}
	answers, astray := map[int]bool{}, false
	for _, s := range q.modelSteps() {
		answers[s.to], astray = len(s.calls) > 0, astray || s.astray
		q.noteSplitAnswers(s, answers)
	}
	for _, c := range q.contents {
		astray = astray || !c.isModels() && len(c.partsWith("functionResponse")) > 0 && !answers[c.at]
	}
	if !astray {
		return nil
	}
	return invalid("Please ensure that function response turn comes immediately after a function call turn.")
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

func responsesMiscounted(q *request, _ rule.Env) *rule.Refusal {
	for _, s := range q.modelSteps() {
		if q.model.needsSignatures() && len(s.calls) > 0 && len(s.answer.partsWith("functionResponse")) != len(s.calls) {
			return invalid(miscounted)
		}
	}
	return nil
}

func responsesMisnamed(q *request, _ rule.Env) *rule.Refusal {
	for _, s := range q.modelSteps() {
		responses := s.answer.partsWith("functionResponse")
		if !q.model.needsSignatures() || len(responses) == 0 || sameNames(s.calls, responses) {
			continue
		}
		if q.vertex {
			return invalid("Request contains an invalid argument.")
		}
		return invalid(miscounted)
	}
	return nil
}

func sameNames(calls, responses []part) bool { return sameKeys(calls, responses, part.name) }

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
