package harness

import (
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Usage is what one or more replies cost, in tokens. Tokens that were read from or
// written to the provider's cache are not part of Input.
type Usage struct {
	Input, CacheRead, CacheWrite, Output int
}

// Total is the number of all tokens.
func (u Usage) Total() int { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

func (u Usage) minusUsage(v Usage) Usage {
	return Usage{u.Input - v.Input, u.CacheRead - v.CacheRead, u.CacheWrite - v.CacheWrite, u.Output - v.Output}
}

func (u Usage) plusUsage(v Usage) Usage {
	return Usage{u.Input + v.Input, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite, u.Output + v.Output}
}

// maxTokens is the highest number that is believed: sums of it do not overflow.
const maxTokens = 1 << 40

// counted is what a reply has counted so far.
type counted struct {
	wire.Usage
	isReported bool
}

// addFrame takes over what a piece of a reply counts. Providers send running totals.
func (c *counted) addFrame(provider string, frame []byte) {
	if doc, err := tree.Parse(frame); err == nil {
		c.isReported = c.Add(provider, doc) || c.isReported
	}
}

// toUsage counts cached tokens apart.
func (c *counted) toUsage() Usage {
	bounded := func(n int) int { return max(0, min(n, maxTokens)) }
	u := Usage{CacheRead: bounded(c.CacheRead), CacheWrite: bounded(c.CacheWrite), Output: bounded(c.Output)}
	u.Input = bounded(c.Input - u.CacheRead - u.CacheWrite)
	return u
}

// estimateUsage stands for a reply that reports nothing, such as one that was cut: a
// token for every four bytes that passed.
func estimateUsage(request, response int64) Usage {
	return Usage{Input: int(request / 4), Output: int(response / 4)}
}
