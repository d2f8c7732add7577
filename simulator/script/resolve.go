package script

import (
	"fmt"
	"strings"

	"github.com/meerkat-go/conformance/specs"
)

// Block is one thing a reply says, resolved for one request.
type Block struct {
	Kind  specs.BlockKind
	Parts []string // thinking; nil when the text is withheld
	Text  string   // text, signed_text
	Name  string   // call: the tool's name in the request
	Args  []byte   // call: as streamed, nil when nothing is
	// Partial says that Args end in the middle.
	Partial bool
	Search  *specs.Search // search
	Code    *specs.Code   // code
}

// Arguments returns Args, or {} when nothing whole is streamed.
func (b Block) Arguments() []byte {
	if len(b.Args) == 0 || b.Partial {
		return []byte("{}")
	}
	return b.Args
}

// resolveBlocks turns what turn i says into what it says to req.
func (s *Script) resolveBlocks(req Request, i int, asked Intent) ([]Block, *Refusal) {
	var blocks []Block
	for _, e := range s.Scenario.Turns[i].Emit {
		thought := e.Kind == specs.KindThinking || e.Kind == specs.KindRedacted
		if !e.For(req.Provider) || thought && !req.Thinks {
			continue
		}
		b := Block{Kind: e.Kind, Text: e.Text, Args: e.Args, Partial: e.Partial, Search: e.Search, Code: e.Code}
		if req.Shown {
			b.Parts = e.Parts
		}
		if refusal := s.resolveTool(req, i, e, &b, asked); refusal != nil {
			return nil, refusal
		}
		blocks = append(blocks, b.withNonces(s.Seed))
	}
	return blocks, nil
}

// resolveTool finds the tool that a block needs among those of the request.
func (s *Script) resolveTool(req Request, i int, e specs.Block, b *Block, asked Intent) *Refusal {
	offered := func() string { return "one that offers " + toolForRole(req.Tools, asked.Hosted) }
	switch e.Kind {
	case specs.KindSearch, specs.KindCode:
		if !asked.offersHosted(e.Kind) {
			return s.checkExpectation(req, i, fmt.Sprintf("a request that offers the provider's own tool for %s", e.Kind), offered())
		}
	case specs.KindCall:
		if b.Name = toolFor(e.Role, req.Tools, asked.Tools); b.Name == "" {
			return s.checkExpectation(req, i, fmt.Sprintf("a request that offers a tool for the role %s: no tool of the request %s", e.Role, fitsRole(e.Role)), offered())
		}
		if e.Fill != "" {
			b.Args = fillArguments(asked.toolSchema(b.Name), specs.Fresh(e.Fill, s.Seed))
		}
	default: // needs no tool
	}
	return nil
}

// toolForRole names what a request offers.
func toolForRole(tools, hosted []string) string {
	var names []string
	for _, t := range tools {
		if t != "" {
			names = append(names, t)
		}
	}
	for _, h := range hosted {
		names = append(names, "the provider's "+h)
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

const roleAny = "any"

// fitsRole says what a tool lacks for a role.
func fitsRole(role string) string {
	if role == roleAny {
		return "is the client's"
	}
	return "ends in conform_" + role
}

// toolFor finds the tool with a role by the end of its name: agents put the
// server's name before it, with one underscore, two, or other marks.
func toolFor(role string, tools []string, own []Tool) string {
	if role == roleAny {
		return firstHarmless(own)
	}
	for _, t := range tools {
		before, ok := strings.CutSuffix(t, "conform_"+role)
		if ok && (before == "" || strings.ContainsAny(before[len(before)-1:], "_./:")) {
			return t
		}
	}
	return ""
}

// firstHarmless is the name of the first tool that changes nothing, else of the
// first.
func firstHarmless(tools []Tool) string {
	if quiet := filterTools(tools, func(t Tool) bool { return !effects().MatchString(t.Name) }); len(quiet) > 0 {
		return quiet[0].Name
	}
	if len(tools) > 0 {
		return tools[0].Name
	}
	return ""
}

// fillArguments returns arguments that fulfil a tool's schema.
func fillArguments(schema map[string]any, word string) []byte {
	if o, ok := fillSchema(schema, word).(Object); ok {
		return JSON(o)
	}
	return []byte("{}")
}

// withNonces puts nonces into everything that a block says.
func (b Block) withNonces(seed string) Block {
	b.Text = specs.Fresh(b.Text, seed)
	if len(b.Args) > 0 {
		b.Args = []byte(specs.Fresh(string(b.Args), seed))
	}
	parts := b.Parts
	b.Parts = nil
	for _, p := range parts {
		b.Parts = append(b.Parts, specs.Fresh(p, seed))
	}
	if b.Code != nil {
		b.Code = &specs.Code{Source: specs.Fresh(b.Code.Source, seed), Output: specs.Fresh(b.Code.Output, seed)}
	}
	if b.Search != nil {
		b.Search = freshSearch(b.Search, seed)
	}
	return b
}

func freshSearch(s *specs.Search, seed string) *specs.Search {
	out := &specs.Search{Query: specs.Fresh(s.Query, seed)}
	for _, f := range s.Results {
		out.Results = append(out.Results, specs.Found{Title: specs.Fresh(f.Title, seed), URL: specs.Fresh(f.URL, seed)})
	}
	return out
}
