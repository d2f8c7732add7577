package simulator

import (
	"maps"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
)

// admitPaused lets a request end with the assistant's words where these are a reply that
// the scenario paused: it is sent back as it is, and is not a prefill. Which words
// paused, only the scenario knows.
func (h *handler) admitPaused(c *call) {
	if h.Scenario == nil || c.route.provider != "anthropic" {
		return
	}
	messages := parseOwn(c.body).Get("messages").List()
	if len(messages) == 0 || messages[len(messages)-1].Get("role").Text() != "assistant" {
		return
	}
	said := textsOf(messages[len(messages)-1].Get("content"))
	isPaused := func(t specs.Turn) bool {
		return t.Stop == specs.StopPause && slices.ContainsFunc(t.Emit, func(b specs.Block) bool {
			return b.Kind == specs.KindText && b.For("anthropic") && slices.Contains(said, specs.Fresh(b.Text, h.Seed))
		})
	}
	if slices.ContainsFunc(h.Scenario.Turns, isPaused) {
		c.env.Off = maps.Clone(c.env.Off)
		c.env.Off["A-14"] = true
	}
}

// textsOf lists the texts of a content, which may be one text.
func textsOf(content *tree.Node) []string {
	if content.Is(tree.String) {
		return []string{content.Text()}
	}
	var texts []string
	for i := range content.List() {
		texts = append(texts, strings.TrimSpace(content.List()[i].Get("text").Text()))
	}
	return texts
}
