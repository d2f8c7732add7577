package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// toolRules judge what the model is told about its tools.
var toolRules = map[string]rule{
	"TOOL-001/unknown-tool": unknownToolIsError,
	"TOOL-002/printed":      resultNotPrinted,
	"TOOL-003/cut-notice":   cutResultSaysSo,
	"TOOL-004/forced-once":  forcedToolOnce,
	"MCP-001/found":         declaredToolFound,
	"MCP-002/error-marked":  serverErrorMarked,
	"MCP-003/list-appended": toolListAppended,
}

// answered is a call and the result that a request sends for it.
type answered struct {
	x         *exchange
	call, res *wire.Item
}

// eachAnswer calls f for every result with its call, once for all requests that repeat
// the two.
func (s *Trace) eachAnswer(f func(a answered)) {
	seen := map[string]bool{}
	s.eachStep(func(x *exchange, said, answer []wire.Item) {
		results := wire.OfKind(answer, wire.Result)
		for _, call := range wire.OfKind(said, wire.Call) {
			k := slices.IndexFunc(results, func(res *wire.Item) bool { return res.Answers(call) })
			if k < 0 || results[k].Node == nil {
				continue
			}
			key := x.Provider + call.ID + call.Name + results[k].Node.Raw()
			if !seen[key] {
				seen[key] = true
				f(answered{x, call, results[k]})
			}
			results = slices.Delete(results, k, k+1)
		}
	})
}

// words are what the result says, without the names and ids around it.
func (a answered) words() string {
	return strings.TrimSpace(a.res.Words())
}

// offersCalled reports whether x offers the tool of a call, and whether its list of tools
// is all that the model has.
func offersCalled(x *exchange, call *wire.Item) (isOffered, isWhole bool) {
	list := x.req.Declared
	name := call.Name
	if namespace := call.Node.Text("namespace"); namespace != "" {
		name = namespace + "." + name
	}
	isOffered = slices.ContainsFunc(list, func(d wire.Tool) bool { return d.Name == name || d.Name == call.Name })
	isWhole = len(list) > 0 && !x.req.Stateful && !x.offersOtherTools() &&
		!slices.ContainsFunc(x.req.Tools.List(), offersMore)
	return isOffered, isWhole
}

// offersMore reports whether a tool of the provider brings others with it: its own, those
// of a server, and those that a search finds.
func offersMore(tool *tree.Node) bool {
	kind := tool.Text("type")
	return kind != "" && kind != "function" && kind != "custom" ||
		tool.Any("functionDeclarations", "function_declarations", "function", "custom", "name") == nil
}

// unknownToolIsError: there is no such tool, so whatever the result says is invented,
// unless it says that. On Anthropic the mark is part of saying so. A run that fails there
// does not tell the model.
func unknownToolIsError(s *Trace, r *report) {
	for n := range s.ev.Process {
		last := s.lastOfProcess(n)
		if last == nil || !last.reply.Usable() || !hasFailed(s.ev.Process[n].ExitCode) {
			continue
		}
		for call := range wire.Each(last.reply.Items) {
			if isOffered, isWhole := offersCalled(last, call); call.What == wire.Call && !isOffered && isWhole {
				r.addObserved(1)
				r.addProcessFinding(n,
					"process %d exited %d after the model called %q, which exchange %d did not offer, and did not tell the model so", n, s.ev.Process[n].ExitCode, cutText(call.Name, 140), last.Index).Consequence = specs.Degraded
				break
			}
		}
	}
	reported := map[string]bool{}
	s.eachPair("", wire.Call, func(l *link, _ pair, was, is *wire.Item) {
		res := l.resultOf(is)
		if isOffered, isWhole := offersCalled(l.from, was); isOffered || !isWhole || res == nil || is.Name != was.Name {
			return
		}
		r.addObserved(1)
		key := is.Name + res.Node.Raw()
		if reported[key] {
			return
		}
		reported[key] = true
		words := answered{l.to, is, res}.words()
		switch {
		case !containsAny(strings.ToLower(words), errorWords) && !absentTool.MatchString(words) && !res.IsMarkedError():
			r.addFinding(l.to, res.Place, "",
				"the model called %q, which exchange %d did not offer, and is told %q as if it had run",
				cutText(is.Name, 140), l.from.Index, cutText(words, 60))
		case l.to.wire.Has(wires.MarksErrors) && !res.IsError:
			r.addFinding(l.to, res.Place, "",
				"the model called %q, which exchange %d did not offer, and the result that says so is not marked with is_error", cutText(is.Name, 140), l.from.Index).Consequence = specs.Degraded
		}
	})
}

// absentTool matches ways to say that there is no such tool.
var absentTool = regexp.MustCompile(`(?i)\b(no (such )?(tool|function)s?|not (found|exist|available|registered|defined|declared|offered|supported|known|recogni[sz]ed)|doesn't exist|unknown|unavailable|unsupported|unrecogni[sz]ed|non-?existent)\b`)

// resultOf returns the result that stands behind what was sent back of the reply and
// answers the call, nil for none.
func (l *link) resultOf(call *wire.Item) *wire.Item {
	for q := l.items[len(l.items)-1] + 1; q < len(l.to.req.Items) && !l.sent(q).Model(); q++ {
		if res := l.sent(q); res.What == wire.Result && res.Answers(call) {
			return res
		}
	}
	return nil
}

// printedValues are what runtimes print in place of a value.
var printedValues = regexp.MustCompile(`^(\[object [A-Z][A-Za-z]*\](,\[object [A-Z][A-Za-z]*\])*|undefined|<coroutine object .*>|<[\w.]+ object at 0x[0-9a-f]+>|%!\w\(.*\)|\{\{.*\}\}|Promise \{ <pending> \})$`)

// resultNotPrinted: a result is what the tool gave, and not how the runtime prints it.
func resultNotPrinted(s *Trace, r *report) {
	s.eachAnswer(func(a answered) {
		r.addObserved(1)
		if words := a.words(); len(words) < 200 && printedValues.MatchString(words) {
			r.addFinding(a.x, a.res.Place, "", "the result of %s is %q: an object that was printed and not written out",
				a.call.Label(), cutText(words, 60))
		}
	})
}

// noticeWords are what a shortened result may say about itself.
var noticeWords = []string{"truncat", "…", "...", "omitted", "more ", "cut", "limit", "exceed", "shortened", "partial",
	"rest of", "continued", "bytes)", "chars)", "characters"}

// shortestCut is from how many bytes on a text may have been shortened for its length.
const shortestCut = 500

// cutResultSaysSo: JSON that stops in its middle was cut, and if nothing says so the model
// takes the rest for absent.
func cutResultSaysSo(s *Trace, r *report) {
	s.eachAnswer(func(a answered) {
		words := a.words()
		if len(words) < shortestCut || words[0] != '{' && words[0] != '[' {
			return
		}
		isCut, isJSON := readsAsJSON(words)
		saysSo := containsAny(strings.ToLower(words[max(0, len(words)-200):]), noticeWords)
		if !isJSON && !isCut && !saysSo {
			return
		}
		r.addObserved(1)
		if isCut && !saysSo && !a.res.IsError {
			r.addFinding(a.x, a.res.Place, "",
				"the result of %s is JSON that stops after %d bytes, at %q, and nothing says that it was cut",
				a.call.Label(), len(words), words[len(words)-window:])
		}
	})
}

// readsAsJSON says of a text that begins like JSON whether it is JSON, or was until it
// stopped.
func readsAsJSON(text string) (isCut, isJSON bool) {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	for {
		_, err := dec.Token()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return true, false
		case errors.Is(err, io.EOF):
			return !json.Valid([]byte(text)), json.Valid([]byte(text))
		case err != nil:
			return false, false
		}
	}
}

// forcedToolOnce: the model cannot answer as long as every request of the turn forces the
// tool that it has called.
func forcedToolOnce(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		kind, names, at := x.req.Choice.Kind, x.req.Choice.Names, x.placeOf(x.req.Choice.Path)
		if kind != "tool" && (kind != "any" || len(names) != 1) || len(names) == 0 {
			return
		}
		r.addObserved(1)
		for i := x.turn; i < len(x.req.Items); i++ {
			if it := &x.req.Items[i]; it.What == wire.Call && it.Name == names[0] {
				r.addFinding(x, at, "",
					"tool_choice forces %q again, which the model has called in this turn already (%s): it can never answer", cutText(names[0], 140), it.Place.Path)
				return
			}
		}
	})
}

// missingTool matches what dispatchers say of a name that they do not know.
var missingTool = regexp.MustCompile(`(?i)^\W*(error:?\s*)?((unknown|no such|invalid|unrecognized) (tool|function)\b|(tool|function) ['"\x60]?[\w.:/-]+['"\x60]? (was |is )?(not found|not available|does not exist|unknown|not registered)|no tool (named|called))`)

// declaredToolFound: the name under which a tool is offered leads to the tool.
func declaredToolFound(s *Trace, r *report) {
	s.eachAnswer(func(a answered) {
		if isOffered, _ := offersCalled(a.x, a.call); !isOffered {
			return
		}
		r.addObserved(1)
		if words := a.words(); len(words) < 400 && missingTool.MatchString(words) &&
			!isErrorOfOther(words, a.call.Name) {
			r.addFinding(a.x, a.res.Place, "",
				"the tool %q is offered under this name, and the call of it is answered with %q",
				cutText(a.call.Name, 140), cutText(words, 80))
		}
	})
}

// isErrorOfOther reports whether a message names another tool in quotes: that of a tool
// that runs tools.
func isErrorOfOther(words, name string) bool {
	for _, quoted := range quotedNames.FindAllStringSubmatch(words, -1) {
		if quoted[1] != name && !strings.HasSuffix(name, quoted[1]) {
			return true
		}
	}
	return false
}

var quotedNames = regexp.MustCompile("['\"`]([\\w.:/-]+)['\"`]")

// serverErrorMarked: a result that an MCP server marks as an error is one for the provider
// as well, where its format has a mark.
func serverErrorMarked(s *Trace, r *report) {
	s.eachAnswer(func(a answered) {
		doc, _ := tree.Parse([]byte(a.words()))
		fails := strings.HasSuffix(a.call.Name, "conform_fail") &&
			strings.Contains(a.words(), "this tool always fails") // of our tool server
		if doc.Get("isError") == nil && !fails || !a.x.wire.Has(wires.MarksErrors) {
			return
		}
		r.addObserved(1)
		if (fails || doc.True("isError")) && !a.res.IsError {
			r.addFinding(a.x, a.res.Place, "",
				"the server answered %s with isError true, and the result is not marked with is_error", a.call.Label())
		}
	})
}

// toolListAppended: when the list of tools changes, what stays keeps its place and what is
// new comes last, so that the cache of the tools before it is still good. An agent that
// takes over, with a system prompt of its own, has tools of its own.
func toolListAppended(s *Trace, r *report) {
	s.eachNext(func(then, now *exchange) {
		if !sameSystem(then.req.System, now.req.System) {
			return
		}
		was, is := then.req.Declared, now.req.Declared
		if len(was) == 0 || len(is) == 0 ||
			slices.EqualFunc(was, is, func(a, b wire.Tool) bool { return a.Name == b.Name }) {
			return
		}
		known := func(d wire.Tool) bool {
			return slices.ContainsFunc(was, func(o wire.Tool) bool { return o.Name == d.Name })
		}
		r.addObserved(1)
		var added *wire.Tool
		for i := range is {
			switch {
			case isDeferred(is[i].Node):
			case !known(is[i]):
				added = &is[i]
			case added != nil:
				r.addFinding(now, is[i].Place(), "",
					"tool %q was added before tool %q, which exchange %d offered already: all that stands behind it is read anew; append it", cutText(added.Name, 140), cutText(is[i].Name, 140), then.Index)
				return
			}
		}
	})
}

// toolsRunOnce: a tool runs to its end no more often than the model asked for it. The log
// of the tools shows it; no request does, because the agent sends one of the results.
func toolsRunOnce(s *Trace, r *report) {
	for _, runs := range s.ev.ToolRuns {
		r.addObserved(min(runs.Ended, runs.Asked))
		if runs.Ended <= runs.Asked {
			continue
		}
		with := ""
		if runs.Arguments != "" {
			with = " with the same arguments"
		}
		r.Findings = append(r.Findings, Finding{
			Check: r.check, Exchange: -1, Event: -1, Offset: -1, Path: runs.Tool, Form: "the agent ran it %s",
			Message: fmt.Sprintf("the agent ran it %s%s to its end, and the model asked for that %s", times(runs.Ended),
				with, times(runs.Asked)),
		})
	}
}

func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
