package script

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/seal"
	"github.com/meerkat-go/conformance/wires/tree"
)

// quoted finds what a prompt puts between quotation marks.
var quoted = lazyPattern(`["“«]([^"“”«»\n]{1,200})["”»]`)

// lazyPattern compiles a pattern when it is first asked for: programs that hold a
// simulator they seldom use start sooner.
func lazyPattern(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// maxCalls is the number of results in a conversation after which nothing is called
// any more.
const maxCalls = 10

// effects are what the names of tools tell that change things. Such a tool is
// called only when the prompt or the request names it.
var effects = lazyPattern(`(?i)bash|shell|exec|run|write|edit|patch|delete|remove|kill|task|agent|create|update|send|move|install|commit|push|apply|computer|terminal`)

// AutoReply is what a model says when no script tells it: it thinks, calls the
// tools that the prompt names, or else the first harmless one, with arguments
// that fulfil their schemas, and reports what they answered. It calls tools once
// after each prompt, and no more after maxCalls, because some clients prompt
// themselves for ever. Equal requests get
// equal answers. One that is longer than the request allows ends where it must,
// with the stop that says so.
func AutoReply(a Intent) ([]specs.Block, specs.Stop) { return fitLimit(autoBlocks(a), a.Limit) }

func autoBlocks(a Intent) []specs.Block {
	if blocks, ok := instructedBlocks(a); ok {
		return blocks
	}
	if tools := wantedTools(a); len(tools) > 0 {
		return callBlocks(a, tools)
	}
	switch {
	case a.Schema != nil:
		return []specs.Block{thinkingBlock("The answer has a given form. I fill it in."),
			textBlock(answerIn(a, quotedWord(a.Prompt)))}
	case len(a.Calls) > 0:
		return []specs.Block{thinkingBlock("The results are here. I look at them and report."),
			textBlock(reportResults(a.Calls))}
	}
	return []specs.Block{thinkingBlock("The user wrote something and I answer it. No tool is needed for that."),
		textBlock(answerPrompt(a.Prompt))}
}

// wantedTools are the tools to call now: those demanded, else, after a prompt, those
// it names, else the first that changes nothing.
func wantedTools(a Intent) []Tool {
	named := func(name string) []Tool {
		return filterTools(a.Tools, func(t Tool) bool { return t.Name == name })
	}
	switch {
	case a.Choice == ChoiceNone || len(a.Tools) == 0:
		return nil
	case a.Choice != "" && a.Choice != ChoiceAny:
		return named(a.Choice)
	case a.Choice == "" && (len(a.Calls) > 0 || a.Answered >= maxCalls):
		return nil
	}
	if tools := a.namedTools(a.Prompt); len(tools) > 0 {
		return tools
	}
	if names := namedIn(a.Prompt); len(names) > 0 && a.Searches < maxSearches {
		if through, args, ok := reachedTool(a.Tools, names[0], JSON(Object{"text", quotedWord(a.Prompt)})); ok {
			through.given = args
			return []Tool{through}
		}
	}
	if _, ok := wordsToSay(a.Prompt); ok && a.Choice == "" {
		return nil
	}
	if tools := filterTools(a.Tools, func(t Tool) bool { return !effects().MatchString(t.Name) && !t.isSearch() }); len(tools) > 0 {
		return tools[:1]
	}
	if a.Choice == ChoiceAny {
		return a.Tools[:1]
	}
	return nil
}

// namedTools are the tools of the client that a text names, with or without the
// name of their server.
func (a Intent) namedTools(text string) []Tool {
	lower, names := strings.ToLower(text), namedIn(text)
	return filterTools(a.Tools, func(t Tool) bool {
		return mentionsWord(lower, strings.ToLower(t.Name)) ||
			slices.ContainsFunc(names, func(n string) bool { return hasName(t.Name, n) })
	})
}

// mentionsWord reports whether text holds name as a word of its own.
func mentionsWord(text, name string) bool {
	for at := 0; name != ""; at++ {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		at += i
		if end := at + len(name); !isNameByte(text, at-1) && !isNameByte(text, end) {
			return true
		}
	}
	return false
}

// isNameByte reports whether the byte at i continues a name.
func isNameByte(text string, i int) bool {
	return i >= 0 && i < len(text) &&
		(text[i] == '_' || text[i] >= 'a' && text[i] <= 'z' || text[i] >= '0' && text[i] <= '9')
}

func callBlocks(a Intent, tools []Tool) []specs.Block {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	list := strings.Join(names, ", ")
	blocks := []specs.Block{
		thinkingBlock(fmt.Sprintf("The user wants: %s I call %s and look at what comes back.",
			oneSentence(a.Prompt), list)),
		textBlock(fmt.Sprintf("Calling %s.", list)),
	}
	for _, t := range tools {
		blocks = append(blocks, specs.Block{Kind: specs.KindCall, Role: t.Name,
			Args: t.arguments(quotedWord(a.Prompt))})
	}
	return blocks
}

func reportResults(done []Called) string {
	var lines []string
	for _, c := range done {
		lines = append(lines, fmt.Sprintf("The tool %s answered: %s", c.Name, oneSentence(c.Result)))
	}
	return strings.Join(lines, "\n")
}

// answerPrompt answers a prompt: with what it asks to hear, if it quotes that.
func answerPrompt(prompt string) string {
	if words, ok := wordsToSay(prompt); ok {
		return words
	}
	return fmt.Sprintf("You wrote: %s I am a simulated model; I answer every prompt, in the same words each time.",
		oneSentence(prompt))
}

// asksToSay finds that a prompt wants to hear something.
var asksToSay = lazyPattern(`(?i)\b(say|reply|respond|answer|repeat|echo|output|print)\b`)

// wordsToSay is what a prompt quotes and asks to hear.
func wordsToSay(prompt string) (string, bool) {
	q := quoted().FindStringSubmatch(prompt)
	if q == nil || !asksToSay().MatchString(prompt) {
		return "", false
	}
	return q[1], true
}

// oneSentence is text on one line, cut where it is long, with a stop at its end.
func oneSentence(s string) string {
	const most = 160
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}

// quotedWord is what to write where a tool wants a text: what the prompt quotes.
func quotedWord(prompt string) string {
	if q := quoted().FindStringSubmatch(prompt); q != nil {
		return q[1]
	}
	return "example"
}

func thinkingBlock(text string) specs.Block {
	return specs.Block{Kind: specs.KindThinking, Parts: []string{text}}
}

func textBlock(text string) specs.Block { return specs.Block{Kind: specs.KindText, Text: text} }

func filterTools(tools []Tool, keep func(Tool) bool) []Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t Tool) bool { return !keep(t) })
}

// Generated is the reply to req that says emit, without a script. What a
// provider draws at random depends on the request alone.
func Generated(req Request, emit []specs.Block, stop specs.Stop, key seal.Key, at time.Time) Reply {
	var blocks []Block
	for _, e := range emit {
		if e.Kind == specs.KindThinking && !req.Thinks {
			continue
		}
		b := Block{Kind: e.Kind, Text: e.Text, Name: e.Role, Args: e.Args, Partial: e.Partial}
		if req.Shown {
			b.Parts = e.Parts
		}
		blocks = append(blocks, b)
	}
	turn := specs.Turn{Emit: emit, Stop: stop}
	sum := sha256.Sum256(req.Body)
	return Reply{
		Request: req, Turn: turn, Ordinal: req.Turns, Blocks: blocks, Stop: stopOf(turn, blocks),
		Seed: "improvised/" + req.Provider + "/" + hex.EncodeToString(sum[:8]), Key: key, At: at,
	}
}

// instruction is a turn that a prompt spells out: calls of tools, or a text.
type instruction struct {
	calls []Tool
	text  string
}

// instructedBlocks is the turn that the prompt spells out for now; ok is false when it
// spells out none. A line `NAME {…}`, where NAME is a tool on offer, is a call, and a
// line `say TEXT` is an answer. Lines that follow one another are one turn; a line that
// begins with `then` begins the next one. What the client adds to the conversation later
// takes up no turn. After the last turn the model says how it ended and calls nothing.
func instructedBlocks(a Intent) (blocks []specs.Block, ok bool) {
	turn := 0
	for _, m := range slices.Backward(a.Messages) {
		turn += len(m.Turns)
		plan := a.readInstructions(m.Text)
		switch {
		case plan == nil:
			continue
		case a.Choice != "" || turn >= len(plan) && len(a.Calls) > 0:
			return []specs.Block{textBlock(reportResults(a.Calls))}, a.Choice == "" || a.Choice == ChoiceNone
		case turn >= len(plan):
			return []specs.Block{textBlock("Noted: " + oneSentence(a.Prompt))}, true
		}
		return plan[turn].asBlocks(), true
	}
	return nil, false
}

func (i instruction) asBlocks() []specs.Block {
	blocks := []specs.Block{thinkingBlock("The prompt says what to do. I do that.")}
	if i.text != "" || len(i.calls) == 0 {
		blocks = append(blocks, textBlock(i.text))
	}
	for _, t := range i.calls {
		blocks = append(blocks, specs.Block{Kind: specs.KindCall, Role: t.Name, Args: t.given})
	}
	return blocks
}

// readInstructions returns the turns that a text spells out, nil if it calls no tool.
func (a Intent) readInstructions(text string) (plan []instruction) {
	called := false
	for line := range strings.Lines(text) {
		line, later := strings.CutPrefix(strings.TrimSpace(line), "then ")
		said, isText := strings.CutPrefix(line, "say ")
		call, isCall := a.readCall(line)
		if !isText && !isCall {
			continue
		}
		if later || plan == nil {
			plan = append(plan, instruction{})
		}
		now := &plan[len(plan)-1]
		if isText {
			now.text = said
			continue
		}
		called = true
		now.calls = append(now.calls, call)
	}
	if !called {
		return nil
	}
	return plan
}

// readCall reads a line that is a call of a tool on offer.
func (a Intent) readCall(line string) (Tool, bool) {
	name, args, found := strings.Cut(line, " ")
	if !found || !strings.HasPrefix(args, "{") || !json.Valid([]byte(args)) {
		return Tool{}, false
	}
	i := slices.IndexFunc(a.Tools, func(t Tool) bool { return hasName(t.Name, name) && !t.Text })
	if i < 0 {
		return Tool{}, false
	}
	t := a.Tools[i]
	t.given = []byte(args)
	return t, true
}

// Agents put words of their own beside those of the user: reminders, the
// environment, project instructions. They stand in elements with a name.
var (
	// reminder is an element that may stand anywhere among the user's words.
	reminder = regexp.MustCompile(`(?s)<(system-reminder|system_reminder)>.*?</(system-reminder|system_reminder)>`)
	// opening begins a text that is one element from start to end.
	opening = regexp.MustCompile(`^<([A-Za-z][\w.:-]*)[^<>]*>`)
)

// userWords returns what the user said in a content, without what the agent added.
// A content that is nothing but additions has no words.
func userWords(content *tree.Node) string { return joinTexts(content, ownWords) }

// ownWords returns a text without reminders, "" when it is one element.
func ownWords(text string) string {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "<") && !strings.Contains(text, "reminder>") {
		return text
	}
	text = strings.TrimSpace(reminder.ReplaceAllString(text, ""))
	if name := opening.FindStringSubmatch(text); name != nil && strings.HasSuffix(text, "</"+name[1]+">") {
		return ""
	}
	return text
}
