package openai

import (
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/seal"
)

// prefixCompaction begins the ids of compaction items.
const prefixCompaction = "cmp_"

// wantsCompaction reports whether the request asks for a compaction of what is longer
// than a threshold, and is longer.
func (q *request) wantsCompaction(tokens int) bool {
	for _, edit := range q.body.List("context_management") {
		threshold, limited := edit.Get("compact_threshold").Whole()
		if edit.Text("type") == "compaction" && limited && tokens > threshold {
			return true
		}
	}
	return false
}

// compactionItem is the item that stands for the conversation so far. Like that of
// reasoning, its encrypted content is bound to its id and differs when it is done.
func (v *signedReply) compactionItem(stage seal.Stage) script.Object {
	id := v.ID(prefixCompaction, 0, script.Hex, 50)
	b := binding{id: id, family: v.q.model.family, account: v.q.account}
	return script.Object{"id", id, "type", "compaction", "encrypted_content", v.Key.Fernet(seal.Facts{Origin: originEncrypted}, b.place(), stage, v.At)}
}

// addCompaction ends the output with a compaction, when it is due.
func (s *stream) addCompaction() {
	if total, _ := s.q.measurePrompt(); !s.q.wantsCompaction(total) {
		return
	}
	if s.Request.Form != script.FormUnary {
		s.addItem(s.compactionItem(seal.StageAdded))
		s.addEvent("output_item.done", "item", s.compactionItem(seal.StageDone), "output_index", s.output)
		s.output++
	}
	s.items = append(s.items, s.compactionItem(seal.StageCompleted))
}
