package anthropic

import "github.com/meerkat-go/conformance/meerkat/transcript"

// Prompt caching: the end of what never changes, and the last two messages
// that are not the model's, so that the next request finds what this one
// leaves. Three marks at most, of four, and none on thinking or
// on an empty text.

// cacheMarkedTurns returns the turns whose last block gets a mark.
func (w *requestWriter) cacheMarkedTurns() []int {
	var turns []int
	for i := len(w.turns) - 1; i >= 0 && len(turns) < 2 && w.CacheTTL != ""; i-- {
		if w.turns[i].Message.Role != transcript.RoleAssistant {
			turns = append(turns, i)
		}
	}
	return turns
}

// markLastBlock marks the block that was written last.
func (w *requestWriter) markLastBlock() {
	if w.CacheTTL == "" {
		return
	}
	w.Reopen(func() {
		w.Key("cache_control").Object(func() {
			w.Key("type").Str("ephemeral")
			if w.CacheTTL != "5m" { // the provider's default
				w.Key("ttl").Text(w.CacheTTL)
			}
		})
	})
}
