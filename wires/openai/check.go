package openai

import (
	"crypto/sha256"
	_ "embed" // for refusals.yaml
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Check returns the first rule that the request breaks, in the order in which the API looks: credential, JSON,
// schema place by place, model, stored state, form of the answer, tools, pairs of items, seals. nil is a request
// that the API accepts.
func (r Request) Check(env rule.Env) *rule.Refusal {
	q := r.q
	q.openTokens(env.Key)
	if refusal := rule.First(accessRules, q, env); refusal != nil {
		return refusal
	}
	for _, b := range q.schemaBreaches() {
		if refusal := rule.First(shapeRules, b, env); refusal != nil {
			return refusal
		}
	}
	return rule.First(meaningRules, q, env)
}

// Rules states the rules in the order in which Check applies them.
func Rules() []rule.Info {
	return slices.Concat(rule.Infos(accessRules), rule.Infos(shapeRules), rule.Infos(meaningRules))
}

// meaningRules are about a request that has the right form.
var meaningRules = slices.Concat(modelRules, stateRules, formatRules, toolRules, fileRules, pairRules,
	tokenRules, sizeRules)

// The sources of a rule.
const (
	recorded   = "recorded"
	documented = "documented"
	reported   = "reported"
	inferred   = "inferred"
)

// The ways to state a rule, see package rule.
var (
	judged, everywhere, atPublicAPI, strictRule = rule.Judged[*request], rule.Everywhere[*request],
		rule.AtPublicAPI[*request], rule.FromStrict[*request]
	basicRule, liveRule, sureRule = rule.Basic[*request], rule.FromLive[*request], rule.Sure[*request]
)

// shapeRules judge one breach of the schema each: which of them answers is
// decided by the place in the request that is looked at first.
var shapeRules = []rule.Rule[breach]{
	{Info: shapeInfo(rule.Lenient, "O-3", "the request names a model and has an input", reported),
		Broken: func(b breach, _ rule.Env) *rule.Refusal {
			if !b.isCore {
				return nil
			}
			return b.refusal()
		}},
	shapeRule(rule.Live, "O-3", "mandatory parameters are there, a reasoning item's summary too (OAI-R1)", reported,
		members.Missing),
	shapeRule(rule.Strict, "O-4", "there is no unknown parameter, at any depth; live notes one, for it may be new",
		recorded, members.Unknown, members.NoBeta),
	shapeRule(rule.Live, "O-5", "values have the documented type; a call's arguments are a string", recorded,
		members.WrongType, members.Null),
	shapeRule(rule.Live, "O-5", "enumerations have a documented value", recorded, members.WrongValue,
		members.UnknownType),
	shapeRule(rule.Live, "O-6", "numbers are in their range", recorded, members.OutOfRange),
	shapeRule(rule.Live, "O-7",
		"strings, arrays and objects have a length in their range; a call_id 1 to 64 characters", reported,
		members.WrongLength),
	shapeRule(rule.Live, "O-8", "an item's id has its type's prefix, and letters, digits, _ and - only", reported,
		members.WrongID),
	shapeRule(rule.Live, "O-16", "content parts fit the role: output_text and refusal for the assistant", reported,
		members.UnknownType),
	shapeRule(rule.Live, "O-18", "a tool's name has letters, digits, _ and - only", reported, members.WrongForm),
}

func shapeInfo(least rule.Level, id, what, source string) rule.Info {
	return rule.Info{ID: id, Demand: what, Source: source, Confidence: rule.High, Least: least}
}

func shapeRule(least rule.Level, id, what, source string, kinds ...members.Kind) rule.Rule[breach] {
	return rule.Rule[breach]{Info: shapeInfo(least, id, what, source),
		Broken: func(b breach, _ rule.Env) *rule.Refusal {
			if b.isCore || b.Rule != id || !slices.Contains(kinds, b.Kind) {
				return nil
			}
			return b.refusal()
		}}
}

//go:embed refusals.yaml
var textFile []byte

var texts = rule.ReadTexts("openai", textFile)

var judgedRules = slices.Concat(meaningRules, refereeRules)

// Book is what the referee reads: the rules that need nothing but the request, the members of
// requests, and the words of refusals.
func Book() *rule.Book {
	return &rule.Book{Rules: Rules(), Aspects: rule.Aspects(judgedRules), Judge: judgeRequest, Members: Members,
		Words:   texts.Words,
		Replies: rule.ReplyInfos(replyRules), JudgeReply: judgeReply,
		Claims: func(body *tree.Node) bool { return body.Any("input", "previous_response_id", "prompt") != nil }}
}

func judgeRequest(seen rule.Seen, holds func(rule.Hosts) bool) map[string][]*rule.Pass {
	q := newRequest(seen.Root, "")
	q.takes, q.kept, q.isOwnModel, q.isKept = seen.Takes, seen.Kept, seen.IsOwnModel, seen.IsKept
	q.isLogin = seen.URL != nil && seen.URL.Hostname() == "chatgpt.com" && path.Base(seen.URL.Path) == "responses"
	return rule.Judge(judgedRules, q, holds)
}

// Failure is an error event with the fault nested, then response.failed
// (reference §3.2).
func (Provider) Failure(r script.Reply, sent int, why *rule.Refusal) [][]byte {
	s := &stream{signedReply: newSignedReply(r), sequence: sent,
		failure: script.Object{"code", why.Code, "message", why.Message}}
	fault := script.Object{"type", "error", "sequence_number", s.sequence,
		"error", script.Object{"type", "server_error", "code", why.Code, "message", why.Message, "param", nil}}
	s.sequence++
	s.frames = append(s.frames, fmt.Appendf(nil, "event: error\ndata: %s\n\n", script.JSON(fault)))
	s.addLifecycle("failed", "failed", script.Array{}, nil)
	return s.frames
}

// Reject returns a refusal in the API's envelope with its headers (reference
// §1.2, §4). Equal refusals have equal bytes.
func (Provider) Reject(r *rule.Refusal) (status int, header http.Header, body []byte) {
	fault := script.Object{"message", r.Message, "type", r.Type, "param", orNothing(r.Param), "code", orNothing(r.Code)}
	body = script.JSON(script.Object{"error", fault})
	sum := sha256.Sum256(body)
	header = maps.Clone(constant)
	header["X-Request-Id"] = []string{"req_" + hex.EncodeToString(sum[:16])}
	if r.Status == http.StatusUnauthorized {
		header.Set("Www-Authenticate", `Bearer realm="OpenAI API"`)
		return r.Status, header, body // it belongs to no provider
	}
	header["Openai-Organization"], header["Openai-Project"] = headers["Openai-Organization"], headers["Openai-Project"]
	header["Openai-Processing-Ms"] = []string{strconv.Itoa(5 + int(sum[0])/8)}
	return r.Status, header, body
}

// orNothing is what the API writes for an absent text.
func orNothing(s string) any {
	if s == "" {
		return nil
	}
	return s
}
