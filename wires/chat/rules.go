package chat

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/rule"
)

// Book is what the referee reads.
func Book() *rule.Book {
	return &rule.Book{
		Rules: Rules(), Aspects: rule.Aspects(judgedRules), Judge: judgeRequest, Members: Members,
		TakesUnknown: takesUnknown, KeepsReasoning: keepsReasoning, Words: texts.Words,
		Replies: rule.ReplyInfos(replyRules), JudgeReply: judgeReply,
	}
}

// judgedRules are about a request that has the right form.
var judgedRules = slices.Concat(pairRules, reasoningRules, parameterRules, toolRules, vendorRules, mediaRules)

// Rules states the rules in the order in which the simulator applies them.
func Rules() []rule.Info {
	return slices.Concat(rule.Infos(accessRules), rule.Infos(shapeRules), rule.Infos(judgedRules),
		rule.Infos(sealRules))
}

// findRefusal returns the first rule that the request breaks, or nil.
func (q *request) findRefusal(env rule.Env) *rule.Refusal {
	if refusal := rule.First(accessRules, q, env); refusal != nil {
		return refusal
	}
	for _, f := range Members().Walk(q.body, "request", nil).Faults {
		if f.Side == members.RefereeOnly {
			continue
		}
		if refusal := rule.First(shapeRules, shapeBreach{f, q}, env); refusal != nil {
			return refusal
		}
	}
	return cmp.Or(rule.First(judgedRules, q, env), rule.First(sealRules, q, env))
}

// The ways to state a rule, see package rule.
var judged, everywhere, sureRule = rule.Judged[*request], rule.Everywhere[*request], rule.Sure[*request]

// likelyRule is a rule that few reports show: strict alone enforces it.
func likelyRule(id, demand, source string) rule.Rule[*request] {
	r := sureRule(id, demand, source)
	r.Confidence, r.Least = rule.Medium, rule.Strict
	return r
}

// doubtfulRule is r as a rule that recordings contradict for some models: strict alone enforces it.
func doubtfulRule(r rule.Rule[*request]) rule.Rule[*request] {
	r.Confidence, r.Least = rule.Low, rule.Strict
	return r
}

// The sources of a rule.
const (
	recorded   = "recorded"
	documented = "documented"
	reported   = "reported"
	inferred   = "inferred"
)

var accessRules = []rule.Rule[*request]{
	judged("", sureRule("C-87", "there is a key, and it is valid; one that begins with invalid or test-invalid is not",
		recorded), keyValid),
	judged("", sureRule("C-1", "the body is one JSON object", documented), bodyReadable),
	judged("", likelyRule("C-1", "the model is one of a known vendor, or its name has a version, a tag or a vendor",
		inferred), modelExists),
}

func keyValid(q *request, p *rule.Pass) {
	message := ""
	switch {
	case q.key == "":
		message = "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
	case strings.HasPrefix(strings.TrimPrefix(q.key, "test-"), "invalid"):
		message = "Incorrect API key provided: ********. You can find your API key at https://platform.openai.com/account/api-keys."
	default:
		return
	}
	p.Refuse(&rule.Refusal{Status: http.StatusUnauthorized, Type: "invalid_request_error", Code: "invalid_api_key",
		Message: message})
}

func bodyReadable(q *request, p *rule.Pass) {
	if q.err != nil {
		p.Refuse(q.newRefusal("", "",
			"We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. "+
				"The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"))
	}
}

func modelExists(q *request, p *rule.Pass) {
	refuses := q.dialect.NoModel
	if q.dialect.Name == "" {
		refuses = dialectOf("api.openai.com").NoModel
	}
	if refuses == nil || q.model == "" || strings.ContainsAny(q.model, "0123456789/:") || vendorOf(q.model).Name != "" {
		return
	}
	p.Refuse(&rule.Refusal{
		Status: refuses.Status, Type: refuses.Type, Code: refuses.Code,
		Message: strings.ReplaceAll(refuses.Says, "{model}", q.model),
	})
}
