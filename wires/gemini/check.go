package gemini

import (
	_ "embed" // for refusals.yaml
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
)

// rules are all that is demanded of a request, in the order in which the API
// checks: who asks, whether the front end can transcode the body, whether there
// is the model, then what the backend holds against values, turns, settings and
// signatures (reference §5.3).
var rules = slices.Concat(callerRules, transcodingRules, modelRules, valueRules, turnRules, settingRules,
	signatureRules)

// Check returns the first rule that a generate or count request breaks, nil when it is accepted.
func (r Request) Check(env rule.Env) *rule.Refusal {
	q := r.q
	refusal := rule.First(rules, q, env)
	if refusal != nil {
		refusal.Listed = formOf(q.Request, q.method) == script.FormArray
	}
	return refusal
}

// Rules states the rules in the order in which they are checked.
func Rules() []rule.Info { return rule.Infos(rules) }

// The ways to state a rule, see package rule.
var (
	judged, everywhere, atPublicAPI, strictRule = rule.Judged[*request], rule.Everywhere[*request],
		rule.AtPublicAPI[*request], rule.FromStrict[*request]
	basicRule, liveRule, sureRule = rule.Basic[*request], rule.FromLive[*request], rule.Sure[*request]
)

// generateOnly is a rule about generate requests; a count of tokens is not held to
// it.
func generateOnly(broken func(*request, rule.Env) *rule.Refusal) func(*request, rule.Env) *rule.Refusal {
	return func(q *request, env rule.Env) *rule.Refusal {
		if q.method == count {
			return nil
		}
		return broken(q, env)
	}
}

// invalid is a refusal with status 400.
func invalid(format string, args ...any) *rule.Refusal {
	return &rule.Refusal{Status: http.StatusBadRequest, Type: "INVALID_ARGUMENT", Message: fmt.Sprintf(format, args...)}
}

// maxFaults is how many places one refusal names: a request may have as many faults as bytes.
const maxFaults = 100

// invalidList is a refusal that names the places at fault, nil when there is none.
func invalidList(faults []string) *rule.Refusal {
	text := ""
	for _, f := range faults[:min(maxFaults, len(faults))] {
		text += "* GenerateContentRequest." + f + "\n"
	}
	if text == "" {
		return nil
	}
	return invalid("%s", text)
}

//go:embed refusals.yaml
var textFile []byte

var texts = rule.ReadTexts("gemini", textFile)

var judgedRules = slices.Concat(rules, refereeRules)

// Book is what the referee reads: the rules that need nothing but the request, the members of
// requests, and the words of refusals.
func Book() *rule.Book {
	return &rule.Book{Rules: Rules(), Aspects: rule.Aspects(judgedRules), Judge: judgeRequest, Members: Members,
		Words:   texts.Words,
		Replies: rule.ReplyInfos(replyRules), JudgeReply: judgeReply}
}

func judgeRequest(seen rule.Seen, holds func(rule.Hosts) bool) map[string][]*rule.Pass {
	q := &request{body: seen.Root, model: model{id: seen.Model, takes: seen.Takes}, plain: seen.Plain}
	q.route, _ = routeOf(seen.URL.Path)
	if m := specs.ParseModel(seen.Model); m.Family == "gemini" {
		q.model.ModelName = m
	}
	q.readContents()
	return rule.Judge(judgedRules, q, holds)
}

const contentType = "application/json; charset=UTF-8"

// Reject returns a refusal as the API sends it: one object, or one in a list
// where a list was asked for (reference §4).
func (Provider) Reject(r *rule.Refusal) (int, http.Header, []byte) {
	body := prettyJSON(script.JSON(failure(r)))
	if r.Listed {
		body = joinFrames("[", body, "\n]")
	}
	return r.Status, http.Header{
		"Content-Type": {contentType}, "Server": {"scaffolding on HTTPServer2"},
		"Vary":                   {"Origin", "X-Origin", "Referer"},
		"X-Content-Type-Options": {"nosniff"}, "X-Frame-Options": {"SAMEORIGIN"}, "X-Xss-Protection": {"0"},
	}, append(body, '\n')
}

func failure(r *rule.Refusal) script.Object {
	e := script.Object{"code", r.Status, "message", r.Message, "status", r.Type}
	if r.Details != nil {
		e = append(e, "details", json.RawMessage(r.Details))
	}
	return script.Object{"error", e}
}

// Failure is a chunk that holds an error instead of candidates.
func (Provider) Failure(r script.Reply, sent int, why *rule.Refusal) [][]byte {
	chunk := script.JSON(failure(why))
	if r.Request.Form == script.FormArray && sent > 0 {
		return [][]byte{joinFrames(",\r\n", prettyJSON(chunk), "\n]")}
	}
	return sseFrame([][]byte{chunk}, r.Request.Form)
}
