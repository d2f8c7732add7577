package handoff

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// stripInterrupted takes the tokens off a reply that was interrupted: they
// cover what never arrived. Its whole calls are closed like any other.
func (r *reply) stripInterrupted() {
	if r.StopReason != transcript.StopAborted && r.StopReason != transcript.StopCancelled {
		return
	}
	for i := range r.Blocks {
		r.makeForeign(i, ruleInterruptedReply, "the reply was interrupted")
	}
	last := len(r.Blocks) - 1
	if last < 0 || r.Blocks[last].Type != transcript.BlockToolUse {
		return
	}
	if b := &r.Blocks[last]; !jsontok.IsObject(b.Args) && !r.wasActedOn(b.ID) {
		r.decide(last, drop, ruleInterruptedReply, "the call was interrupted before it was complete")
	}
}

// wasActedOn reports whether a call was started or answered: then it was
// complete.
func (r *reply) wasActedOn(id string) bool {
	if e, ok := r.history.Ledger.Lookup(r.at, id); ok && e.Status != transcript.CallProposed {
		return true
	}
	for _, m := range r.after {
		if m.Role == transcript.RoleAssistant {
			break
		}
		if slices.ContainsFunc(m.Results, func(t transcript.ToolResult) bool { return t.ToolUseID == id }) {
			return true
		}
	}
	return false
}

func (r *reply) dropDuplicateIDs() {
	for i := range r.Blocks {
		for j := range r.Blocks[:i] {
			if r.isSentCall(i) && r.isSentCall(j) && r.Blocks[i].ID == r.Blocks[j].ID {
				r.decide(i, drop, ruleDuplicateIDs, "another call of the reply has the same id")
			}
		}
	}
}

// isSentCall reports whether a block is a call that is sent.
func (r *reply) isSentCall(i int) bool {
	return r.Blocks[i].Type == transcript.BlockToolUse && r.decisions[i].disposition != drop
}

// fitCall fits a call to the target and returns what is lost by that: a name
// that the target would refuse, the signature that Gemini demands of the first
// call, arguments that are not an object.
func (r *reply) fitCall(b *transcript.Block, first bool) loss {
	lost := loss{}
	if b.Name == "" {
		if e, ok := r.history.Ledger.Lookup(r.at, b.ID); ok {
			b.Name = e.Name
		}
	}
	own, traits := r.target.Made(b) && b.Name != "", &r.target.Model.Traits
	if name := traits.LegalToolName(b.Name); !own && name != b.Name {
		b.Name = name
		lost = loss{ruleToolName, "the target does not take its name, which goes out as " + name}
	}
	if !own && !utf8.Valid(b.Args) {
		b.Args = bytes.ToValidUTF8(b.Args, []byte("\uFFFD"))
		lost = loss{
			ruleInvalidArguments,
			"its arguments are not UTF-8, which every provider refuses; bad bytes go out as U+FFFD",
		}
	}
	if len(r.target.Raw(b)) == 0 && !traits.StringArguments && len(b.Args) > 0 && !jsontok.IsObject(b.Args) {
		lost = loss{ruleInvalidArguments, "its arguments are not an object and go out as a string in one"}
	}
	if r.target.Model.Signatures && first && (!own || tokenOf(b) == "") {
		lost = loss{
			ruleMissingSignature,
			"it has no signature of " + r.target.Model.Model + "; the documented stand-in takes its place",
		}
	}
	return lost
}

// dropDeclinedReply leaves out all of a reply that declined.
func (r *reply) dropDeclinedReply() {
	if !r.target.Model.Traits.DeclinesAgain || r.StopReason != transcript.StopRefusal {
		return
	}
	for i := range r.Blocks {
		r.decide(
			i, drop, ruleDeclinedReply, "the model declined; the provider would decline again because of this reply",
		)
	}
}

// dropUnpairedServerTools keeps calls and results of the provider's own tools in
// pairs (ANT-S1). A reply that paused gets the results with its next part.
func (r *reply) dropUnpairedServerTools() {
	opaque := func(b transcript.Block) bool { return b.Type == transcript.BlockOpaque }
	if !r.target.Model.Traits.ServerTools || !slices.ContainsFunc(r.Blocks, opaque) {
		return
	}
	calls, results := serverCallIDs(r.Blocks)
	before, after := withoutAborted(r.before), withoutAborted(r.after)
	pausing := r.StopReason == transcript.StopPauseTurn && len(after) == 0
	if len(after) > 0 && r.StopReason == transcript.StopPauseTurn {
		_, next := serverCallIDs(after[0].Blocks)
		maps.Copy(results, next)
	}
	if n := len(before); n > 0 && before[n-1].StopReason == transcript.StopPauseTurn {
		made, _ := serverCallIDs(before[n-1].Blocks)
		maps.Copy(calls, made)
	}
	r.eachKept(transcript.BlockOpaque, func(i int, b *transcript.Block) {
		use, result := serverCallID(b)
		switch {
		case use != "" && !results[use] && !pausing:
			r.decide(i, drop, ruleUnpairedServerTool, "the call of the server tool has no result")
		case result != "" && !calls[result]:
			r.decide(i, drop, ruleUnpairedServerTool, "the result of the server tool has no call")
		}
	})
}

// withoutAborted leaves out the replies of which an interruption left nothing.
func withoutAborted(messages []placed) []placed {
	return slices.DeleteFunc(slices.Clone(messages), func(m placed) bool {
		return m.StopReason == transcript.StopAborted && isSilent(&m.Message)
	})
}

func serverCallIDs(blocks []transcript.Block) (calls, results map[string]bool) {
	calls, results = map[string]bool{}, map[string]bool{}
	for i := range blocks {
		use, result := serverCallID(&blocks[i])
		calls[use], results[result] = true, true
	}
	return calls, results
}

// serverCallID returns the id of the server tool's call that b makes or answers.
func serverCallID(b *transcript.Block) (use, result string) {
	if b.Type != transcript.BlockOpaque {
		return "", ""
	}
	var ids struct {
		ID        string `json:"id"`
		ToolUseID string `json:"tool_use_id"`
	}
	if json.Unmarshal(b.Raw, &ids) != nil {
		return "", ""
	}
	switch {
	case b.Kind == "server_tool_use" || b.Kind == "mcp_tool_use":
		return ids.ID, ""
	case strings.HasSuffix(b.Kind, "_tool_result"):
		return "", ids.ToolUseID
	}
	return "", ""
}
