package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// TextError says that a text is not valid UTF-8. Nothing was sent and nothing stored.
type TextError struct {
	What   string // "prompt", "system prompt" or "stop sequence 1"
	Offset int    // of the first such byte, from 0
	Line   int    // its line, from 1
}

// Error names the text and the place.
func (e *TextError) Error() string {
	return fmt.Sprintf(
		"%s: the byte at offset %d (line %d) is not valid UTF-8; nothing was sent; convert the text to UTF-8", e.What,
		e.Offset, e.Line,
	)
}

// checkText returns a *TextError for text that is not valid UTF-8.
func checkText(what, text string) error {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			return &TextError{What: what, Offset: i, Line: 1 + strings.Count(text[:i], "\n")}
		}
	}
	return nil
}

// checkOptions returns what the model would refuse of the settings of a run, before the
// run writes or sends anything. stored is the prefix of a session that exists, or nil.
// Errors are *provider.RequestError and *catalog.UnsupportedModel.
func (c *Config) checkOptions(stored *session.Prefix) error {
	if err := c.checkHosted(stored); err != nil {
		return err
	}
	client, known := c.Client.(provider.Cataloguer)
	if !known {
		return nil // the client decides
	}
	prefix := c.runSettings().prefix
	if stored != nil {
		prefix = resumedPrefix(prefix, *stored)
	}
	entry, err := client.Entry(prefix.Model)
	if err != nil {
		return err
	}
	if c.Temperature != nil && !entry.TakesTemperature(prefix.Effort) {
		return &provider.RequestError{Field: "temperature", Reason: describeTemperature(entry, prefix.Effort)}
	}
	_, err = c.Client.Render(&provider.Request{
		Model: prefix.Model, Effort: prefix.Effort, Tools: prefix.Tools,
		Messages:        []transcript.Message{transcript.User("hi")},
		MaxOutputTokens: c.MaxOutputTokens, Temperature: c.Temperature, StopSequences: c.StopSequences,
		OutputSchema: c.OutputSchema, ToolChoice: c.ToolChoice, CacheTTL: c.CacheTTL, Unary: c.Unary,
	})
	if refused := (*provider.RequestError)(nil); errors.As(err, &refused) {
		return refused
	}
	return nil // what else is wrong is found with the conversation at hand
}

// describeTemperature says why a model takes no temperature.
func describeTemperature(e catalog.Entry, effort string) string {
	if e.Sampling {
		return fmt.Sprintf(
			"%s takes none while it thinks (effort %s); leave it out, or use effort none", e.Model, e.Effort(effort),
		)
	}
	return e.Model + " takes none; leave it out"
}

// checkHosted refuses to continue a session with a tool that the provider runs and that
// is denied now. Nothing but another list of tools would keep it from running, and the
// list stays as it was sent.
func (c *Config) checkHosted(stored *session.Prefix) error {
	if stored == nil {
		return nil
	}
	for _, t := range stored.Tools {
		if t.Hosted && slices.Contains(c.DeniedHosted, t.Name) {
			return &provider.RequestError{
				Field:  "tool " + t.Name,
				Reason: "it is denied now, but the session began with it, and the provider runs it itself; begin a new session, or allow it",
			}
		}
	}
	return nil
}
