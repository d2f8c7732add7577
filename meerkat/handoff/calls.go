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

// aborted makes a reply that broke off nobody's: its tokens cover what never
// came. Text stays, and so do calls that came whole; they are closed like any
// other (H15).
func (r *reply) aborted() {
	if r.StopReason != transcript.StopAborted && r.StopReason != transcript.StopCancelled {
		return
	}
	for i := range r.Blocks {
		r.estrange(i, "H15", "the reply was interrupted")
	}
	last := len(r.Blocks) - 1
	if last < 0 || r.Blocks[last].Type != transcript.BlockToolUse {
		return
	}
	if b := &r.Blocks[last]; !jsontok.IsObject(b.Args) && !r.known(b.ID) {
		r.set(last, dropped, "H15", "the call was interrupted before it was complete")
	}
}

// known reports whether anybody did something about a call: then it was
// complete.
func (r *reply) known(id string) bool {
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

// twins leaves out a call whose id another call of the reply has: results could
// not be told apart (H8).
func (r *reply) twins() {
	for i := range r.Blocks {
		for j := range r.Blocks[:i] {
			if r.calls(i) && r.calls(j) && r.Blocks[i].ID == r.Blocks[j].ID {
				r.set(i, dropped, "H8", "another call of the reply has the same id")
			}
		}
	}
}

// calls reports whether a block is a call that goes out.
func (r *reply) calls(i int) bool {
	return r.Blocks[i].Type == transcript.BlockToolUse && r.fates[i].kind != dropped
}

// call fits a call to the target and says what that costs: a name that is not
// its own and that it would refuse (H8), the signature that Gemini demands of
// the first call (H10), arguments that are no object (H19).
func (r *reply) call(b *transcript.Block, first bool) fate {
	loss := fate{}
	if b.Name == "" {
		if e, ok := r.history.Ledger.Lookup(r.at, b.ID); ok {
			b.Name = e.Name // D20
		}
	}
	own, traits := r.target.Made(b) && b.Name != "", &r.target.Model.Traits
	if name := traits.LegalToolName(b.Name); !own && name != b.Name {
		b.Name = name
		loss = fate{rule: "H8", reason: "the target does not take its name, which goes out as " + name}
	}
	if !own && !utf8.Valid(b.Args) {
		b.Args = bytes.ToValidUTF8(b.Args, []byte("\uFFFD"))
		loss = fate{rule: "H19", reason: "its arguments are not UTF-8, which every provider refuses; bad bytes go out as U+FFFD"}
	}
	if len(r.target.Raw(b)) == 0 && !traits.StringArguments && len(b.Args) > 0 && !jsontok.IsObject(b.Args) {
		loss = fate{rule: "H19", reason: "its arguments are no object and go out as a string in one"}
	}
	if r.target.Model.Signatures && first && (!own || token(b) == "") {
		loss = fate{rule: "H10", reason: "it has no signature of " + r.target.Model.Model + "; the documented stand-in takes its place"}
	}
	return loss
}

// serverTools leaves out calls of Anthropic's own tools without their result,
// and results without their call: they go in pairs (H18, ANT-S1). A reply that
// paused gets the results with its next part.
func (r *reply) serverTools() {
	opaque := func(b transcript.Block) bool { return b.Type == transcript.BlockOpaque }
	if !r.target.Model.Traits.ServerTools || !slices.ContainsFunc(r.Blocks, opaque) {
		return
	}
	calls, results := serverIDs(r.Blocks)
	pausing := r.StopReason == transcript.StopPauseTurn && len(r.after) == 0
	if len(r.after) > 0 && r.StopReason == transcript.StopPauseTurn {
		_, next := serverIDs(r.after[0].Blocks)
		maps.Copy(results, next)
	}
	if n := len(r.before); n > 0 && r.before[n-1].StopReason == transcript.StopPauseTurn {
		before, _ := serverIDs(r.before[n-1].Blocks)
		maps.Copy(calls, before)
	}
	r.each(transcript.BlockOpaque, func(i int, b *transcript.Block) {
		use, result := serverID(b)
		switch {
		case use != "" && !results[use] && !pausing:
			r.set(i, dropped, "H18", "the call of the server tool has no result")
		case result != "" && !calls[result]:
			r.set(i, dropped, "H18", "the result of the server tool has no call")
		}
	})
}

func serverIDs(blocks []transcript.Block) (calls, results map[string]bool) {
	calls, results = map[string]bool{}, map[string]bool{}
	for i := range blocks {
		use, result := serverID(&blocks[i])
		calls[use], results[result] = true, true
	}
	return calls, results
}

// serverID returns the id of the server tool's call that b makes or answers.
func serverID(b *transcript.Block) (use, result string) {
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
