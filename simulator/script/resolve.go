package script

import (
	"fmt"
	"slices"
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
		if !slices.Contains(asked.Hosted, string(e.Kind)) {
			return s.checkExpectation(req, i,
				fmt.Sprintf("a request that offers the provider's own tool for %s", e.Kind), offered())
		}
	case specs.KindCall:
		if s.Scenario.IsLenient {
			return s.resolveLeniently(req, i, e, b, asked)
		}
		if b.Name = toolFor(e.Role, req.Tools, asked.Tools); b.Name == "" {
			return s.resolveByCode(req, i, e, b, offered)
		}
		if e.Fill != "" {
			b.Args = asked.toolNamed(b.Name).arguments(specs.Fresh(e.Fill, s.Seed))
		}
	default: // needs no tool
	}
	return nil
}

// resolveLeniently finds our tool for the role in whatever spelling, else one of the
// client's own.
func (s *Script) resolveLeniently(req Request, i int, e specs.Block, b *Block, asked Intent) *Refusal {
	if name := roleTool(e.Role, req.Tools); name != "" && e.Role != roleAny {
		b.Name = name
		if e.Fill != "" {
			b.Args = asked.toolNamed(name).arguments(specs.Fresh(e.Fill, s.Seed))
		}
		return nil
	}
	if name, args, ok := s.standIn(e, req, asked.Tools); ok {
		if b.Name = name; !e.Partial {
			b.Args = args
		}
		return nil
	}
	return s.resolveByCode(req, i, e,
		b, func() string { return "one that offers " + toolForRole(req.Tools, asked.Hosted) })
}

// resolveByCode calls the tool of a role by code where the client offers a tool that
// runs it instead of the others.
func (s *Script) resolveByCode(req Request, i int, e specs.Block, b *Block, offered func() string) *Refusal {
	if tools := s.toolsOf(req); slices.ContainsFunc(tools, Tool.runsCode) && e.Role != roleAny {
		through, args, _ := reachedTool(tools, rolePrefix+e.Role, argumentsOf(e, s.Seed))
		b.Name, b.Args = through.Name, args
		return nil
	}
	return s.checkExpectation(req, i,
		fmt.Sprintf("a request that offers a tool for the role %s: no tool of the request %s", e.Role,
			fitsRole(e.Role)), offered())
}

// argumentsOf are the arguments of a call whose tool's schema is not known: those of
// the script, or its one word under the name that all tools of roles have for it.
func argumentsOf(e specs.Block, seed string) []byte {
	if e.Fill == "" && len(e.Args) > 0 {
		return []byte(specs.Fresh(string(e.Args), seed))
	}
	return JSON(Object{"text", specs.Fresh(e.Fill, seed)})
}

func (s *Script) toolsOf(req Request) []Tool {
	if s.Intent == nil {
		return nil
	}
	return s.Intent(req).Tools
}

// searchFirst returns the call that looks for the tool which turn i needs, when the
// client has a tool for that and does not offer the tool itself.
func (s *Script) searchFirst(req Request, i int, asked Intent) (Block, bool) {
	if asked.Searches >= maxSearches || !slices.ContainsFunc(req.Tools, IsToolSearch) {
		return Block{}, false
	}
	for _, e := range s.Scenario.Turns[i].Emit {
		if e.Kind != specs.KindCall || !e.For(req.Provider) || e.Role == roleAny ||
			toolFor(e.Role, req.Tools, nil) != "" {
			continue
		}
		if through, args, ok := reachedTool(asked.Tools, rolePrefix+e.Role, nil); ok {
			return Block{Kind: specs.KindCall, Name: through.Name, Args: args}, true
		}
	}
	return Block{}, false
}

// searchBlocks are a reply that looks for a tool.
func searchBlocks(req Request, search Block) []Block {
	if !req.Thinks {
		return []Block{search}
	}
	thought := Block{Kind: specs.KindThinking}
	if req.Shown {
		thought.Parts = []string{"The tool is not listed. I look for it."}
	}
	return []Block{thought, search}
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

// roleUnknown is a tool that no client offers.
const roleUnknown = "unknown"

// agentTools are the tools that start and control sub-agents, by role.
var agentTools = map[string]string{"agent": "spawn_agent", "await": "await_ops"}

// rolePrefix begins the names of the tools of all other roles.
const rolePrefix = "conform_"

// fitsRole says what a tool lacks for a role.
func fitsRole(role string) string {
	if role == roleAny {
		return "is the client's"
	}
	return "ends in " + rolePrefix + role
}

// toolFor finds the tool with a role by the end of its name: agents put the
// server's name before it, with one underscore, two, or other marks.
func toolFor(role string, tools []string, own []Tool) string {
	switch role {
	case roleAny:
		if quiet := filterTools(own, func(t Tool) bool { return !effects().MatchString(t.Name) }); len(quiet) > 0 {
			return quiet[0].Name
		}
		if len(own) > 0 {
			return own[0].Name
		}
		return ""
	case roleUnknown:
		return rolePrefix + role
	}
	for _, t := range tools {
		if hasName(t, rolePrefix+role) || agentTools[role] != "" && hasName(t, agentTools[role]) {
			return t
		}
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
		out := &specs.Search{Query: specs.Fresh(b.Search.Query, seed)}
		for _, f := range b.Search.Results {
			out.Results = append(out.Results, specs.Found{Title: specs.Fresh(f.Title, seed), URL: specs.Fresh(f.URL, seed)})
		}
		b.Search = out
	}
	return b
}

// Tool is a function that the client offers.
type Tool struct {
	Name   string
	Schema map[string]any // of its arguments
	// Text says that it takes a text, not an object of arguments.
	Text bool
	// About is its description.
	About string
	// given are the arguments, when they are settled.
	given []byte
}

// identifiers finds what a prompt calls a tool by: words joined by underscores.
var identifiers = lazyPattern(`[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+`)

// searches is how the tools that find other tools are called.
var searches = lazyPattern(`(?i)^tool_?search$`)

// isSearch reports whether a tool finds tools that are not listed yet.
func (t Tool) isSearch() bool { return searches().MatchString(t.Name) }

// runsCode reports whether a tool takes JavaScript that calls other tools, which
// are listed in ALL_TOOLS: codex has such a tool instead of all others.
func (t Tool) runsCode() bool { return t.Text && strings.Contains(t.About, "ALL_TOOLS") }

// IsToolSearch reports whether a call of this name only looks for tools. It is not a
// turn of a conversation that a script knows.
func IsToolSearch(name string) bool { return Tool{Name: name}.isSearch() }

// hasName reports whether a tool is the one of a name: agents put the name of a
// server before it, behind marks of their own.
func hasName(tool, name string) bool {
	before, ok := strings.CutSuffix(tool, name)
	return ok && name != "" && (before == "" || strings.ContainsAny(before[len(before)-1:], "_./:-"))
}

// searchCode is JavaScript that calls the tool of a name with arguments.
func searchCode(name string, arguments []byte) []byte {
	return []byte(`const tool = ALL_TOOLS.find((t) => t.name.endsWith(` + string(JSON(name)) + `));` + "\n" +
		`const answer = await tools[tool.name](` + string(arguments) + `);` + "\n" +
		`text(answer.content?.[0]?.text ?? JSON.stringify(answer));`)
}

// arguments are what a tool is called with to do something with word.
func (t Tool) arguments(word string) []byte {
	switch {
	case t.given != nil:
		return t.given
	case t.runsCode():
		return []byte("text(" + string(JSON(word)) + ");")
	case t.Text:
		return []byte(word)
	}
	return fillArguments(t.Schema, word)
}

// reachedTool is how a tool that is not listed is called all the same: by the tool that
// finds it, or by code. ok is false when there is neither.
func reachedTool(tools []Tool, name string, arguments []byte) (through Tool, args []byte, ok bool) {
	if i := slices.IndexFunc(tools, Tool.runsCode); i >= 0 {
		return tools[i], searchCode(name, arguments), true
	}
	if i := slices.IndexFunc(tools, Tool.isSearch); i >= 0 {
		return tools[i], fillArguments(tools[i].Schema, name), true
	}
	return Tool{}, nil, false
}

// maxSearches is how often a tool is looked for in a conversation.
const maxSearches = 2

// namedIn are the names that a prompt calls tools by.
func namedIn(prompt string) []string {
	return slices.Compact(identifiers().FindAllString(prompt, -1))
}
