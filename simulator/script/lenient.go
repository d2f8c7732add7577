package script

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/specs"
)

// replyLeniently answers a client of which nothing is known. Its main conversation is
// the one that holds the prompts of the scenario; the turn follows from the last of
// them and from the model's turns since then, so that neither a first turn that the
// client made up nor a summary of earlier ones counts. All else gets a short answer.
func (s *Script) replyLeniently(req Request) (Reply, *Refusal) {
	if _, ok := s.Scenario.Target(req.Provider); !ok {
		return Reply{}, s.checkExpectation(req, -1, "a request for "+s.turnFor(), "one for "+req.Provider)
	}
	asked := s.Intent(req)
	i := s.turnInConversation(asked)
	if isAside(asked) || i < 0 {
		return s.answerAside(req, asked), nil
	}
	if s.lacksTools(asked, i) {
		if s.Mismatch != nil {
			refusal := s.checkExpectation(req, i, "a request that offers tools", "one that offers none")
			refusal.Mismatch.NoTools = true
			s.Mismatch(refusal.Mismatch)
		}
		return s.answerAside(req, asked), nil
	}
	// Clients change a request before they send it again, so its bytes do not count.
	return s.answerTurn(req, i, asked,
		func() int { return s.Attempts.countAttempt(Request{Provider: req.Provider}, i) })
}

// turnInConversation is the index of the turn that answers a conversation, -1 when it
// is not the main one or the script says nothing more.
func (s *Script) turnInConversation(asked Intent) int {
	step, turns := -1, []int(nil)
	for _, m := range asked.Messages {
		if next := s.stepOf(m.Text, step); next >= 0 {
			step, turns = next, nil
		}
		turns = append(turns, m.Turns...)
	}
	if step < 0 {
		return -1
	}
	answers := s.Scenario.StepTurns(step)
	at := len(turns)
	if at >= len(answers) {
		at = s.countReplies(answers, turns)
	}
	if at < len(answers) {
		return answers[at]
	}
	return -1
}

// countReplies counts the replies that turns with so many calls come from, where the client
// sends the calls of one reply back in several turns, each with its result.
func (s *Script) countReplies(answers, turns []int) int {
	replies, left := 0, 0
	for _, calls := range turns {
		if 0 < calls && calls <= left {
			left -= calls
			continue
		}
		left = 0
		if replies < len(answers) {
			left = s.countCalls(answers[replies]) - calls
		}
		replies++
	}
	return replies
}

// countCalls counts the calls of a turn that the client answers.
func (s *Script) countCalls(turn int) (n int) {
	for _, b := range s.Scenario.Turns[turn].Emit {
		if b.Kind == specs.KindCall {
			n++
		}
	}
	return n
}

// stepOf is the step whose prompt stands last in a message, -1 for none: clients put an
// interrupted prompt and the next one into one message. Of steps with equal prompts it
// is the one after current.
func (s *Script) stepOf(text string, current int) int {
	found, at := -1, -1
	for i := range s.Scenario.Steps {
		mark := s.Scenario.PromptMark(i, s.Seed)
		if mark == "" {
			continue
		}
		if here := strings.LastIndex(text, mark); here > at || here >= 0 && here == at && found <= current {
			found, at = i, here
		}
	}
	return found
}

// lacksTools reports whether turn i calls a tool and the client has none, also after it was
// asked to look for one.
func (s *Script) lacksTools(asked Intent, i int) bool {
	isSearched := len(asked.Tools) == 0 || asked.Searches >= maxSearches
	return isSearched && s.countCalls(i) > 0 &&
		!slices.ContainsFunc(asked.Tools, func(t Tool) bool { return !t.isSearch() })
}

// maxAsideSystem is the length in bytes up to which the instructions of a request that
// offers tools are taken for those of a title: the main ones are long and speak of
// everything.
const maxAsideSystem = 2000

// isAside reports whether a request asks for something beside the main conversation.
func isAside(asked Intent) bool {
	if len(asked.Calls) > 0 {
		return false
	}
	without := asked
	without.Tools = nil
	if len(asked.Tools) > 0 && len(asked.System) > maxAsideSystem {
		without.System = ""
	}
	_, _, ok := SideTraffic(without)
	return ok
}

// answerAside is a short answer without calls, unless the request demands one.
func (s *Script) answerAside(req Request, asked Intent) Reply {
	forced := asked.Choice != "" && asked.Choice != ChoiceNone
	if !forced {
		asked.Tools = nil
	}
	said, stop, ok := SideTraffic(asked)
	if !ok {
		said, stop = AutoReply(asked)
	}
	return Generated(req, said, stop, s.Key, s.Now())
}

// A client that is not given our tools fills a role with one of its own. Nothing that
// is called changes anything: a shell only prints, waits or fails, and other tools are
// taken only when their names say that they look at things.

var (
	shells = lazyPattern(`(?i)bash|shell|exec|terminal|command|run|cmd|powershell`)
	// lookers are how tools that only look at things are called.
	lookers = lazyPattern(`(?i)read|list|ls|glob|grep|find|search|view|cat|echo|get|look|show|status|time|date|calc|add|sum|weather|lookup|query|count`)
	// avoided change something, ask a person, or go elsewhere.
	avoided = lazyPattern(`(?i)ask|question|input|wait|sleep|stop|exit|plan|spawn|todo|memory|remember|notify|schedule|cron|worktree|skill|web|fetch|browser|url`)
	readers = lazyPattern(`(?i)read|view|cat|open|get`)
	paths   = lazyPattern(`(?i)path|file`)
	plain   = lazyPattern(`^[A-Za-z0-9_.-]+$`)
)

// missingFile is the name of a file that does not exist.
const missingFile = "no-such-file-of-conform.txt"

// standIn is the client's own tool for a role, with the arguments to call it with;
// false when there is none that is safe to call.
func (s *Script) standIn(e specs.Block, req Request, tools []Tool) (name string, args []byte, ok bool) {
	word, portable := e.Word()
	word = specs.Fresh(word, s.Seed)
	if !portable {
		return "", nil, false
	}
	tools = filterTools(tools, func(t Tool) bool { return slices.Contains(req.Tools, t.Name) && !t.isSearch() })
	t, found := s.toolForOwnRole(e.Role, tools)
	if !found {
		return "", nil, false
	}
	return t.Name, t.roleArguments(e.Role, word), true
}

func (s *Script) toolForOwnRole(role string, tools []Tool) (Tool, bool) {
	own := s.OwnTools[role]
	for _, fits := range []func(Tool) bool{
		func(t Tool) bool { return hasName(t.Name, own) },
		func(t Tool) bool { return hasName(strings.ToLower(t.Name), role) },
		Tool.isShell, Tool.runsCode,
		func(t Tool) bool {
			return role == "fail" && readers().MatchString(t.Name) && t.pathProperty() != "" && t.isHarmless()
		},
		func(t Tool) bool { return role == "noargs" && t.isHarmless() && len(t.requiredArguments()) == 0 },
		func(t Tool) bool { return t.isHarmless() && lookers().MatchString(t.Name) },
		Tool.isHarmless,
	} {
		if i := slices.IndexFunc(tools, fits); i >= 0 {
			return tools[i], true
		}
	}
	return Tool{}, false
}

func (t Tool) isHarmless() bool {
	return !t.Text && !effects().MatchString(t.Name) && !avoided().MatchString(t.Name)
}

// isShell reports whether a tool runs a command of the system.
func (t Tool) isShell() bool {
	return !t.Text && shells().MatchString(t.Name) && t.commandProperty() != ""
}

// commandProperty is the argument that holds a command, "" for none.
func (t Tool) commandProperty() string {
	for _, name := range []string{"command", "cmd", "script"} {
		if kind := t.argumentType(name); kind == "string" || kind == "array" {
			return name
		}
	}
	return ""
}

// pathProperty is the argument that names a file, "" for none.
func (t Tool) pathProperty() string {
	for _, name := range slices.Sorted(maps.Keys(objectIn(t.Schema, "properties"))) {
		if paths().MatchString(name) && t.argumentType(name) == "string" {
			return name
		}
	}
	return ""
}

func (t Tool) requiredArguments() []any { return listIn(t.Schema, "required") }

func (t Tool) argumentType(name string) string {
	return schemaType(objectIn(objectIn(t.Schema, "properties"), name))
}

// roleArguments are what the client's own tool is called with to fill a role.
func (t Tool) roleArguments(role, word string) []byte {
	switch {
	case t.isShell():
		// A shell takes a command as a text or as a list.
		command := shellCommand(role, word)
		name := t.commandProperty()
		if t.argumentType(name) == "array" {
			return t.argumentsWith(name, Array{"sh", "-c", command}, command)
		}
		return t.argumentsWith(name, command, command)
	case t.runsCode():
		return []byte(roleCode(role, word))
	case t.Text:
		return []byte(word)
	case role == "fail" && t.pathProperty() != "":
		return t.argumentsWith(t.pathProperty(), missingFile, word)
	case role == "noargs" && len(t.requiredArguments()) == 0:
		return []byte("{}")
	}
	return t.arguments(cmp.Or(word, "heron"))
}

// argumentsWith fulfil the tool's schema with word for free text, and have value in one
// place.
func (t Tool) argumentsWith(name string, value any, word string) []byte {
	out := Object{name, value}
	filled, _ := fillSchema(t.Schema, word).(Object)
	for i := 0; i+1 < len(filled); i += 2 {
		if filled[i] != name && slices.Contains(t.requiredArguments(), filled[i]) {
			out = append(out, filled[i], filled[i+1])
		}
	}
	return JSON(out)
}

// shellCommand is a command without effects that fills a role.
func shellCommand(role, word string) string {
	switch role {
	case "fail":
		return "cat " + missingFile
	case "noargs":
		return "true"
	case "large":
		return `head -c 65536 /dev/zero | tr '\0' x`
	case "slow":
		return "sleep " + strconv.Itoa(waitTime(word))
	}
	return "echo " + quoteWord(word)
}

// waitTime is how many seconds the role slow waits: what the word says, else one.
func waitTime(word string) int {
	if n, err := strconv.Atoi(word); err == nil && n > 0 {
		return n
	}
	return 1
}

// roleCode is JavaScript for a tool that runs it: it calls our tool where the client has
// one behind it, and else fills the role itself.
func roleCode(role, word string) string {
	own := `text(` + string(JSON(word)) + `);`
	switch role {
	case "fail":
		own = `throw new Error("this call always fails");`
	case "noargs", "slow":
		own = `text("ok");`
	case "large":
		own = `text("x".repeat(65536));`
	}
	arguments := Object{}
	if word != "" {
		arguments = Object{"text", word}
	}
	if role == "slow" {
		arguments = Object{"seconds", waitTime(word)}
	}
	return `const tool = ALL_TOOLS.find((t) => t.name.endsWith(` + string(JSON(rolePrefix+role)) + `));` + "\n" +
		`if (tool) { const answer = await tools[tool.name](` + string(JSON(arguments)) +
		`); text(answer.content?.[0]?.text ?? JSON.stringify(answer)); } else { ` + own + ` }`
}

// quoteWord is a word that a shell takes as it is.
func quoteWord(word string) string {
	if plain().MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, `'`, `'\''`) + "'"
}

// roleTool is the name of our tool for a role, in whatever spelling a client gives it.
func roleTool(role string, tools []string) string {
	if name := toolFor(role, tools, nil); name != "" {
		return name
	}
	want := strings.ReplaceAll(rolePrefix+role, "_", "")
	for _, name := range tools {
		spelt := strings.NewReplacer("_", "", "-", "", ".", "", "/", "", ":", "").Replace(strings.ToLower(name))
		if strings.HasSuffix(spelt, want) {
			return name
		}
	}
	return ""
}
