package anthropic

import (
	"crypto/sha256"
	_ "embed" // for refusals.yaml
	"encoding/base32"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Rules states the rules in the order in which they are checked.
func Rules() []rule.Info { return rule.Infos(rules) }

// The statuses and types of refusals (reference §4).
const (
	typeInvalid  = "invalid_request_error"
	typeAuth     = "authentication_error"
	typeNotFound = "not_found_error"
	typeTooLarge = "request_too_large"
)

type anthropicRule = rule.Rule[*call]

// rules are all rules, in order.
var rules = slices.Concat(transportRules, shapeRules, modelRules, parameterRules, thinkingRules, toolRules,
	contentRules, pairingRules, turnRules, limitRules, tokenRules)

// The ways to state a rule, see package rule.
var judged, everywhere, atPublicAPI, strictRule = rule.Judged[*call], rule.Everywhere[*call], rule.AtPublicAPI[*call],
	rule.FromStrict[*call]

// sureRule is a rule that the live API is sure to enforce.
func sureRule(id, source, demand string, broken func(*call, rule.Env) *rule.Refusal) anthropicRule {
	return anthropicRule{Info: rule.Info{ID: id, Demand: demand, Source: source, Confidence: rule.High,
		Least: rule.Live}, Broken: broken}
}

// likelyRule is a rule that is known from few reports, or contested.
func likelyRule(id, source, demand string, broken func(*call, rule.Env) *rule.Refusal) anthropicRule {
	r := sureRule(id, source, demand, broken)
	r.Confidence = rule.Medium
	return r
}

// doubtfulRule is a rule that only strictness asks for.
func doubtfulRule(id, source, demand string, broken func(*call, rule.Env) *rule.Refusal) anthropicRule {
	r := strictRule(sureRule(id, source, demand, broken))
	r.Confidence = rule.Low
	return r
}

// basicRule is a rule without which a reply cannot be made.
func basicRule(id, source, demand string, broken func(*call, rule.Env) *rule.Refusal) anthropicRule {
	r := sureRule(id, source, demand, broken)
	r.Least = rule.Lenient
	return r
}

func invalid(format string, args ...any) *rule.Refusal {
	return &rule.Refusal{Status: http.StatusBadRequest, Type: typeInvalid, Message: fmt.Sprintf(format, args...)}
}

// Reject returns the error envelope of a refusal. It says whether trying again
// is of any use, which clients believe before the status (reference §1.1, §4).
func (Provider) Reject(r *rule.Refusal) (status int, header http.Header, body []byte) {
	id := refusalID(r.Type, r.Message)
	header = maps.Clone(constant)
	header["Request-Id"], header["X-Should-Retry"] = []string{id}, []string{strconv.FormatBool(isTransient(r.Status))}
	if r.Status == http.StatusUnauthorized {
		header.Del("Anthropic-Organization-Id") // there is none
	}
	return r.Status, header, script.JSON(errorDocument(r.Type, r.Message, id))
}

// isTransient reports whether a status is of a state that passes.
func isTransient(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusConflict ||
		status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

//go:embed refusals.yaml
var textFile []byte

var texts = rule.ReadTexts("anthropic", textFile)

var judgedRules = slices.Concat(rules, refereeRules)

// Book is what the referee reads: the rules that need nothing but the request, and the words of
// refusals.
func Book() *rule.Book {
	return &rule.Book{Rules: Rules(), Aspects: rule.Aspects(judgedRules), Judge: judgeRequest, Betas: recordedBetas,
		Members: Members, Words: texts.Words,
		Replies: rule.ReplyInfos(replyRules), JudgeReply: judgeReply, Claims: claimsBody}
}

func judgeRequest(seen rule.Seen, holds func(rule.Hosts) bool) map[string][]*rule.Pass {
	c := newCall(seen.Header, seen.Root)
	c.takes, c.paused, c.size, c.url = seen.Takes, seen.Paused, len(seen.Body), seen.URL
	c.betasUnknown = seen.Betas == nil
	c.versionUnknown = !keepsHeaders(seen.Header) && !seen.IsShown("Anthropic-Version")
	return rule.Judge(judgedRules, c, holds)
}

// recordedBetas returns the betas of a recorded request, nil where the recording may have dropped them.
func recordedBetas(h http.Header) []string {
	if len(h.Values("Anthropic-Beta")) == 0 && !keepsHeaders(h) && h.Get("Anthropic-Version") == "" {
		return nil
	}
	return append([]string{}, betasOf(h)...)
}

// keepsHeaders reports whether a recording seems to have kept all headers of the
// request: many keep a few, or none, and the key is what they take out first.
func keepsHeaders(h http.Header) bool {
	return h.Get("Content-Type") != "" && h.Get("User-Agent") != "" && h.Get("X-Api-Key") != ""
}

// claimsBody tells a request from one of Chat Completions, which has messages as well and claims what is left: there
// a system message begins the conversation, here it stands further on. Without a mark of either, the model tells.
func claimsBody(body *tree.Node) bool {
	model := body.Text("model")
	isMarked := model == "" || strings.Contains(model, "claude") || body.Any("system", "stop_sequences") != nil ||
		body.Get("tools").Child("0").Get("input_schema") != nil
	for i, m := range body.List("messages") {
		role := m.Text("role")
		for _, block := range m.List("content") {
			kind := block.Text("type")
			isMarked = isMarked || kind == "tool_use" || kind == "tool_result" || kind == "thinking"
		}
		if i == 0 && role == "system" || role == "tool" || role == "developer" || m.Get("tool_calls") != nil {
			return false
		}
	}
	return isMarked && body.Get("messages") != nil && body.Any("max_completion_tokens", "n", "logprobs", "response_format") == nil &&
		body.Get("tools").Child("0").Get("function") == nil
}

// refusalID is the id of a request that was refused for this: equal refusals
// have equal bytes.
func refusalID(kind, message string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + message))
	return "req_011C" + base32.StdEncoding.EncodeToString(sum[:])[:20]
}

func errorDocument(kind, message, id string) script.Object {
	return script.Object{"type", "error", "error", script.Object{"type", kind, "message", message}, "request_id", id}
}

// Failure is the error event; the stream ends after it.
func (v Provider) Failure(r script.Reply, sent int, why *rule.Refusal) [][]byte {
	s := &stream{Reply: r, frames: make([][]byte, sent)}
	s.addEvent("error", errorDocument(why.Type, why.Message, v.Header(r).Get("Request-Id")))
	return s.frames[sent:]
}
