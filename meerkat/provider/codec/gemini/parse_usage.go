package gemini

import (
	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// counts are the token counts of one usageMetadata. The last one that has any
// wins as a whole; they are running totals.
type counts struct {
	prompt, candidates, thoughts, tools, cached int
	hasCached, known                            bool
}

// setCount notes one member and reports whether it is a count.
func (c *counts) setCount(name []byte, n int) {
	switch string(name) {
	case "promptTokenCount":
		c.prompt = n
	case "candidatesTokenCount":
		c.candidates = n
	case "thoughtsTokenCount":
		c.thoughts = n
	case "toolUsePromptTokenCount":
		c.tools = n
	case "cachedContentTokenCount":
		c.cached, c.hasCached = n, true
	case "totalTokenCount":
	default:
		return
	}
	c.known = true
}

// isCount reports whether name is a member that set knows.
func isCount(name []byte) bool {
	switch string(name) {
	case "promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "toolUsePromptTokenCount",
		"cachedContentTokenCount", "totalTokenCount":
		return true
	}
	return false
}

func (d *dialect) readUsage(raw []byte) error {
	var c counts
	err := jsontok.Fields(raw, func(field, value []byte) error {
		if n, ok := jsontok.Int(value); ok && n >= 0 {
			c.setCount(camelCase(field), n)
		}
		return nil
	})
	if err == nil && c.known {
		d.usage = c
	}
	return err
}

// totalUsage returns the usage in our terms: what the model wrote is the
// answer and its thoughts, what it read is the prompt and the tool results that
// the server fed to it.
//
//nolint:gosec // no count is negative
func (c *counts) totalUsage() transcript.Usage {
	u := transcript.Usage{
		InputTokens:  uint64(c.prompt + c.tools),
		OutputTokens: uint64(c.candidates + c.thoughts),
	}
	if c.hasCached {
		n := uint64(c.cached)
		u.CacheReadTokens = &n
	}
	return u
}
