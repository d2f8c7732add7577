package gemini

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/seal"
	"github.com/meerkat-go/conformance/wires/tree"
)

// signatureRules are about thought signatures, which Gemini demands from
// generation 3 on.
var signatureRules = []rule.Rule[*request]{
	liveRule("G-21", "the signature of a call stands on the call; one on the function response alone does not count",
		"reported", rule.High, generateOnly(signedElsewhere)),
	everywhere(judged("SIG-014/call-signed",
		sureRule("G-17", "from Gemini 3 on: in the current turn the first call of each content has its signature",
			"documented, reported"), firstCallsSigned)),
	liveRule("G-18",
		"a signature of the current turn is whole, and was issued to this account by this generation of models, on a part of this kind", "reported", rule.High, generateOnly(corruptedNow)),
	strictRule(liveRule("G-18", "so is one of a closed turn", "reported", rule.Medium, generateOnly(corruptedBefore))),
	strictRule(liveRule("GEM-S4",
		"the signature of a call stands where it was issued, once: on that call, with its arguments, among as many calls", "inferred", rule.Low, generateOnly(callSignaturesInPlace))),
	strictRule(liveRule("GEM-S9", "a server tool's call comes back with its signature; the words are inferred",
		"reported", rule.Medium, generateOnly(serverCallUnsigned))),
}

// firstCalls yields the first call of each of the model's contents in the current turn, of a
// model that asks for its signature.
func (q *request) firstCalls(yield func(c content, call part) bool) {
	if !q.model.needsSignatures() {
		return
	}
	for _, c := range q.contents[min(q.currentTurn(), len(q.contents)):] {
		if !c.isModels() {
			continue
		}
		if calls := c.partsWith("functionCall"); len(calls) > 0 && !yield(c, calls[0]) {
			return
		}
	}
}

func signedElsewhere(q *request, _ rule.Env) *rule.Refusal {
	for c, call := range q.firstCalls {
		if call.signature != "" || c.at+1 >= len(q.contents) {
			continue
		}
		for _, response := range q.contents[c.at+1].partsWith("functionResponse") {
			if response.signature != "" {
				return q.signatureMissing(c, call,
					"the signature stands on the function response, where it proves nothing")
			}
		}
	}
	return nil
}

// firstCallsSigned: models of images do without.
func firstCallsSigned(q *request, p *rule.Pass) {
	if q.method == count || strings.Contains(q.model.id, "image") {
		return
	}
	for c, call := range q.firstCalls {
		if p.Observe(); call.signature == "" {
			p.Report(call.place(),
				"function call %s, the first of its step in the current turn, has no thoughtSignature", call.label()).
				Refuse(q.signatureMissing(c, call, "the first call of its content, in the current turn"))
		}
	}
}

// signaturesDecoded reports what the transcoder refuses.
func signaturesDecoded(q *request, p *rule.Pass) {
	for _, c := range q.contents {
		for _, part := range c.parts {
			if part.signature == "" || isStandIn(part.signature, false) {
				continue
			}
			if p.Observe(); !tree.IsBase64(part.signature) {
				p.Report(part.place()+".thoughtSignature", "the signature, of %d bytes, is not base64",
					len(part.signature))
			}
		}
	}
}

// signaturesBeside reports what the transcoder refuses.
func signaturesBeside(q *request, p *rule.Pass) {
	for call := range q.partsWith("functionCall") {
		if p.Observe(); call.value.Any("thoughtSignature", "thought_signature") != nil {
			p.Report(call.place()+".functionCall.thoughtSignature",
				"signature stands inside functionCall instead of beside it")
		}
	}
}

func (q *request) signatureMissing(c content, call part, note string) *rule.Refusal {
	refusal := invalid("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , position %d. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.", call.name(), c.at+1)
	if q.vertex {
		refusal = invalid("Unable to submit request because function call `default_api:%s` in the %d. content block is missing a `thought_signature`. Learn more: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures", call.name(), c.at+1)
	}
	refusal.Note = note
	return refusal
}

// signatureCorrupted is the API's answer to a signature it does not like.
func (q *request) signatureCorrupted(c content, p part, format string, args ...any) *rule.Refusal {
	refusal := invalid("Corrupted thought signature.")
	switch {
	case q.vertex:
		refusal = invalid("Unable to submit request because Thought signature is not valid.")
	case !q.model.IsBefore(3, 5):
		refusal = invalid("Invalid thought signature.")
	}
	refusal.Note = fmt.Sprintf("contents[%d].parts[%d]: ", c.at, p.at) + fmt.Sprintf(format, args...)
	return refusal
}

func corruptedNow(q *request, env rule.Env) *rule.Refusal {
	return q.anyCorrupted(q.contents[q.currentTurn():], env)
}

func corruptedBefore(q *request, env rule.Env) *rule.Refusal {
	return q.anyCorrupted(q.contents[:q.currentTurn()], env)
}

// anyCorrupted verifies every signature. Models before 3 look at none.
func (q *request) anyCorrupted(contents []content, env rule.Env) *rule.Refusal {
	if !q.model.needsSignatures() {
		return nil
	}
	for _, c := range contents {
		for _, p := range c.parts {
			if !mustVerify(c, p, q.vertex) {
				continue
			}
			s, ours := openToken(env.Key, p.signature)
			if !ours && env.ForeignTokens {
				continue
			}
			if why := q.signatureFault(s, ours, p); why != "" {
				return q.signatureCorrupted(c, p, "%s", why)
			}
		}
	}
	return nil
}

// signatureFault says what is wrong with a signature on a part, "" when nothing is.
func (q *request) signatureFault(s claims, ours bool, p part) string {
	kind := "text"
	if p.data == "functionCall" {
		kind = "call"
	}
	switch {
	case !ours:
		return "the signature is altered, or was issued by somebody else"
	case s.account != accountOf(q.Request, q.route):
		return "the signature was issued to another account"
	case s.family != q.model.family():
		return "the signature was issued by another generation of models, " + s.family
	case s.kind != kind:
		return fmt.Sprintf("the signature was issued on a %s and stands on a %s", s.kind, kind)
	}
	return ""
}

// mustVerify reports whether a part has a signature that must be good. On a
// function response it is idle: it neither counts nor harms (rule G-21).
func mustVerify(c content, p part, vertex bool) bool {
	return p.signature != "" && c.isModels() && (p.data != "functionCall" || !isStandIn(p.signature, vertex))
}

// isStandIn reports whether a signature is one of those that turn the validation
// off, which work on calls only (rule G-20), as text or in base64.
func isStandIn(signature string, vertex bool) bool {
	decoded, _ := members.DecodeBase64(signature)
	for _, s := range []string{signature, string(decoded)} {
		if s == "skip_thought_signature_validator" || s == "context_engineering_is_the_way_to_go" && !vertex {
			return true
		}
	}
	return false
}

// callSignaturesInPlace verifies where the signatures of calls stand.
func callSignaturesInPlace(q *request, env rule.Env) *rule.Refusal {
	if !q.model.needsSignatures() {
		return nil
	}
	seen := map[string]bool{}
	for _, c := range q.contents {
		if !c.isModels() {
			continue
		}
		calls := c.partsWith("functionCall")
		for i, p := range calls {
			s, ours := openToken(env.Key, p.signature)
			if !ours || s.kind != "call" {
				continue
			}
			if why := s.placeFault(p, i, len(calls), seen[p.signature]); why != "" {
				return q.signatureCorrupted(c, p, "%s", why)
			}
			seen[p.signature] = true
		}
	}
	return nil
}

func (s claims) placeFault(p part, ordinal, total int, again bool) string {
	switch {
	case again:
		return "the signature stands on another call already"
	case s.payload != payloadOf(p.name(), p.value.Given("args")):
		return "the call is not the one that was signed"
	case s.ordinal != ordinal:
		return fmt.Sprintf("the signature was issued on call %d of its reply and stands on call %d",
			s.ordinal+1, ordinal+1)
	case s.total != total:
		return fmt.Sprintf("the reply had %d calls, the content has %d", s.total, total)
	}
	return ""
}

func serverCallUnsigned(q *request, _ rule.Env) *rule.Refusal {
	if !q.model.needsSignatures() {
		return nil
	}
	for _, c := range q.contents {
		for _, p := range c.partsWith("toolCall") {
			if p.signature == "" {
				refusal := invalid("Request contains an invalid argument.")
				refusal.Note = fmt.Sprintf("contents[%d].parts[%d]: the server tool's call has lost its signature",
					c.at, p.at)
				return refusal
			}
		}
	}
	return nil
}

// originThought is the origin of thoughtSignature.
const originThought = "gemini/thought_signature"

// claims is what a signature says of itself. It travels inside the token, which
// only the simulator can write, so that a token tells what is wrong with where it
// stands.
type claims struct {
	reply   string // responseId of the reply that it was issued in
	account string
	family  string
	// kind is "call" or "text". Of a text nothing is vouched for: the API lets
	// clients merge and drop signed texts (rule G-22).
	kind string
	// payload is a digest of a call's name and arguments.
	payload string
	// ordinal and total place a call among those of its reply.
	ordinal, total int
}

// signToken returns the token. extra bytes make it longer, as a longer thought
// does.
func (s claims) signToken(key seal.Key, extra int) string {
	text := strings.Join([]string{s.reply, s.account, s.family, s.kind, s.payload,
		strings.Repeat("=", min(extra, 1<<14))}, "\x00")
	return key.Envelope(seal.Facts{Origin: originThought},
		seal.Place{Reply: text, Ordinal: uint16(s.ordinal), Total: uint16(s.total)})
}

// openToken reads the claims in a token. It reports false when the token was
// altered or issued elsewhere.
func openToken(key seal.Key, token string) (claims, bool) {
	place, err := key.OpenEnvelope(seal.Facts{Origin: originThought}, standardBase64(token))
	f := strings.Split(place.Reply, "\x00")
	if err != nil || len(f) != 6 {
		return claims{}, false
	}
	return claims{f[0], f[1], f[2], f[3], f[4], int(place.Ordinal), int(place.Total)}, true
}

// standardBase64 spells a token as it was issued: what stands in JSON for bytes may be
// of either alphabet, and some clients cut the padding.
func standardBase64(token string) string {
	bare := urlAlphabet.Replace(strings.TrimRight(token, "="))
	return bare + strings.Repeat("=", (4-len(bare)%4)%4)
}

// payloadOf is the digest of a call: its name, and its arguments however they
// are spelled.
func payloadOf(name string, args *tree.Node) string {
	text := []byte(name + "\x00")
	if args == nil {
		text = append(text, "{}"...)
	} else {
		text = canonical.Append(text, args)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
