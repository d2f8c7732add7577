package anthropic

import "github.com/meerkat-go/conformance/meerkat/transcript"

// Prompt caching: the end of what never changes, and the last two messages
// that are not the model's, so that the next request finds what this one
// leaves. Three marks at most, of four, and none on thinking or
// on an empty text.

// marked returns the turns whose last block gets a mark.
func (p *plan) marked() []int {
	var turns []int
	for i := len(p.turns) - 1; i >= 0 && len(turns) < 2 && p.req.CacheTTL != ""; i-- {
		if p.turns[i].Message.Role != transcript.RoleAssistant {
			turns = append(turns, i)
		}
	}
	return turns
}

// mark marks the block that was written last.
func (p *plan) mark() {
	if p.req.CacheTTL == "" {
		return
	}
	p.Reopen(func() {
		p.Key("cache_control").Object(func() {
			p.Key("type").Str("ephemeral")
			if p.req.CacheTTL != "5m" { // the provider's default
				p.Key("ttl").Text(p.req.CacheTTL)
			}
		})
	})
}
