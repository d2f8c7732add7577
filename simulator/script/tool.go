package script

import (
	"slices"
	"strings"
)

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
