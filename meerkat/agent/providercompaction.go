package agent

import (
	"bytes"
	"slices"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/repair"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// providerCompacted is the reason of a CompactionCompleted that the provider caused: it
// put a compaction into its reply, which stands for all that was said before.
const providerCompacted = "the provider compacted the conversation"

// compactAt returns from how many tokens on the provider is asked to compact the
// conversation with the next call, 0 when it is not asked: the conversation is short,
// or the call is about a summary of the agent's own.
func (s *state) compactAt() int {
	if s.compactReason != "" || !s.fillsItsShare() {
		return 0
	}
	return s.providerThreshold()
}

// providerThreshold returns the threshold of compaction in tokens if the provider is the
// one to compact; 0 if the agent is: the provider does not offer it for the model or from
// so few tokens on, has refused to, or was asked without success.
func (s *state) providerThreshold() int {
	threshold, least := int(s.settings.compaction.Threshold*float64(s.contextWindow())), s.target.Model.CompactFrom
	if least == 0 || threshold < least || s.compactionIgnored || s.wasCompactionRefused() {
		return 0
	}
	return threshold
}

func (s *state) wasCompactionRefused() bool {
	return slices.ContainsFunc(s.session.History().Repairs, func(r handoff.Repair) bool {
		return r.Kind == handoff.RepairParameter && r.Name == repair.CompactAt && r.AppliesTo(s.target)
	})
}

// providerCompactedAt returns the index of the last reply with a compaction that the
// target reads, -1 if there is none. What stands before it is not in its context.
func (s *state) providerCompactedAt() int {
	through := s.compactedThrough()
	for i := len(s.session.Messages) - 1; i >= through; i-- {
		if s.holdsCompaction(&s.session.Messages[i]) {
			return i
		}
	}
	return -1
}

func (s *state) holdsCompaction(m *transcript.Message) bool {
	return slices.ContainsFunc(m.Blocks, func(b transcript.Block) bool {
		return b.IsCompaction() && s.target.Made(&b) && !isFailedCompaction(&b)
	})
}

// isFailedCompaction reports whether the provider says that it could not compact: its
// block has neither a summary nor a ciphertext, and stands for nothing.
func isFailedCompaction(b *transcript.Block) bool {
	return bytes.Equal(jsontok.MemberOf(b.Raw, "content"), []byte("null")) &&
		jsontok.IsNull(jsontok.MemberOf(b.Raw, "encrypted_content"))
}
