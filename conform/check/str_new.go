package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// newExit: a process does not fail because its last reply, which is whole, holds something
// of a type that is not documented yet. Providers add types without a new version of their
// API (platform.claude.com/docs/en/api/versioning).
func newExit(s *Trace, r *report) {
	for n := range s.ev.Process {
		last, exit := s.lastOfProcess(n), s.ev.Process[n].ExitCode
		if last == nil || exit < 0 || !last.reply.Usable() || unansweredReason(last) != "" {
			continue
		}
		what := newIn(last)
		if what == "" {
			continue
		}
		r.addObserved(1)
		if hasFailed(exit) {
			r.addProcessFinding(n, "process %d exited %d after a reply (exchange %d) that is whole and holds %s", n, exit, last.Index, what)
		}
	}
}

// signalled is the exit code from which shells report the signal that ended a process.
const signalled = 128

// hasFailed reports whether an exit code is one that a program chose, other than success.
func hasFailed(exit int) bool { return exit > 0 && exit < signalled }

// lastOfProcess is the last request of the main conversation that a process sent, nil for
// none.
func (s *Trace) lastOfProcess(n int) (last *exchange) {
	for _, x := range s.x {
		if x.Process == n && x.asksForAnswer() && !x.kind.isSide() {
			last = x
		}
	}
	return last
}

// newIn names what in a reply is of a type that is not documented, "" if nothing is.
func newIn(x *exchange) string {
	var list []string
	add := func(what, name string) {
		if text := fmt.Sprintf("%s of the new type %q", what, name); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	for _, e := range x.reply.Events {
		if e.JSON != nil && !isKnownEvent(x.wire, e) {
			add("an event", newName(e.JSON))
		}
	}
	for it := range wire.Each(x.reply.Items) {
		if it.What == wire.Opaque && !isKnownItem(x.wire, it) {
			add("a block", newName(it.Begun()))
		}
	}
	return strings.Join(list, " and ")
}

// newName is the type of a node, or the name of its first member.
func newName(n *tree.Node) string {
	if t := n.Text("type"); t != "" {
		return t
	}
	if n != nil && len(n.Names()) > 0 {
		return n.Names()[0]
	}
	return ""
}

// openAIEvents are what the types of OpenAI's events begin with, after "response."
// (reference §3.2).
var openAIEvents = []string{"created", "queued", "in_progress", "completed", "incomplete", "failed", "output_item.", "content_part.",
	"output_text.", "refusal.", "reasoning", "function_call_arguments.", "custom_tool_call_input.", "mcp_", "compaction.", "audio."}

// geminiChunk are the members of a chunk, of which each has one (reference §3.3).
var geminiChunk = []string{"candidates", "promptFeedback", "prompt_feedback", "usageMetadata", "usage_metadata", "modelVersion", "model_version",
	"responseId", "response_id", "createTime", "create_time", "modelStatus", "model_status", "error"}

func isKnownEvent(w *wires.Wire, e wire.StreamEvent) bool {
	switch t := e.Type(); {
	case w.Has(wires.Blocks):
		return slices.Contains(w.Events, t)
	case w.Has(wires.ItemList):
		name, isResponse := strings.CutPrefix(t, "response.")
		return !isResponse || strings.Contains(name, "_call") ||
			slices.ContainsFunc(openAIEvents, func(known string) bool { return strings.HasPrefix(name, known) })
	}
	return !w.Has(wires.Contents) || !e.JSON.Is(tree.Object) || e.JSON.Any(geminiChunk...) != nil
}

// The opaque items that are documented, by provider. The results and calls of hosted tools
// are known by their endings.
var (
	anthropicBlocks = []string{"server_tool_use", "mcp_tool_use", "container_upload", "compaction", "fallback", "tool_addition", "tool_removal", "mcp_tool_listing"}
	openAIItems     = []string{"compaction", "compaction_summary", "mcp_list_tools", "mcp_approval_request", "program"}
	geminiPartNames = []string{"text", "thoughtSignature", "thought_signature", "executableCode", "executable_code", "codeExecutionResult", "code_execution_result",
		"toolCall", "tool_call", "toolResponse", "tool_response"}
)

func isKnownItem(w *wires.Wire, it *wire.Item) bool {
	switch {
	case w.Has(wires.Blocks):
		return slices.Contains(anthropicBlocks, it.Type) || strings.HasSuffix(it.Type, "_tool_result")
	case w.Has(wires.ItemList):
		return slices.Contains(openAIItems, it.Type) || strings.HasSuffix(it.Type, "_call") || strings.HasSuffix(it.Type, "_output")
	}
	return !w.Has(wires.Contents) || len(it.Begun().Names()) == 0 || it.Begun().Any(geminiPartNames...) != nil
}
