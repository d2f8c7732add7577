package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/conform/toolserver"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Bounds of the log of our tool server that is read: an agent may call without end.
const (
	maxToolLogBytes = 16 << 20
	maxToolRuns     = 10_000
)

// readToolLog reads what our tool server noted; false where the agent did not start it. The
// agent can write to the file, so lines that are not the server's are passed over.
func readToolLog(path string) (runs []toolserver.Call, started bool) {
	file, err := os.Open(path)
	if err != nil {
		return nil, false
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewReader(io.LimitReader(file, maxToolLogBytes))
	for len(runs) < maxToolRuns {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return runs, true
		}
		var run toolserver.Call
		if json.Unmarshal(line, &run) == nil && run.Tool != "" {
			runs = append(runs, run)
		}
	}
	return runs, true
}

// toolTally counts what became of the calls of one tool.
type toolTally struct {
	asked    map[string]int // by arguments, in the replies of the model
	started  map[string]int // by arguments, in the log
	ended    map[string]int // those that ended well, by arguments
	answered map[string]bool
	// isWrapped says that another tool of the agent names this one in its arguments, so
	// that its calls cannot be counted.
	isWrapped bool
}

// compareToolRuns says which calls that our tool server got the model never asked for, and
// which results it was given of calls that the server never got. Beside that it returns how
// often each call ran: one that did not end well may be run again, and a reply that was cut
// off counts as having asked.
func compareToolRuns(ev *evidence.Evidence, log []toolserver.Call) (deviations []string, runs []evidence.ToolRuns) {
	tallies := tallyToolRuns(ev, log)
	for _, tool := range slices.Sorted(maps.Keys(tallies)) {
		if t := tallies[tool]; !t.isWrapped {
			deviations = append(deviations, t.deviations(tool)...)
			runs = append(runs, t.runs(tool)...)
		}
	}
	return deviations, runs
}

func (t *toolTally) deviations(tool string) []string {
	started := sumOf(t.started)
	if started > 0 && len(t.asked) == 0 {
		return []string{fmt.Sprintf("the agent ran %s, and the model never asked for it", tool)}
	}
	if n := len(t.answered); n > started {
		return []string{fmt.Sprintf("results of %s that the agent gave the model: %d; runs of the tool: %d", tool,
			n, started)}
	}
	return nil
}

// runs are the counts of one tool: more runs than calls, or else those of the arguments
// that the model gave.
func (t *toolTally) runs(tool string) (runs []evidence.ToolRuns) {
	asked, ended := sumOf(t.asked), sumOf(t.ended)
	if asked > 0 && ended > asked {
		return []evidence.ToolRuns{{Tool: tool, Asked: asked, Ended: ended}}
	}
	for _, arguments := range slices.Sorted(maps.Keys(t.asked)) {
		runs = append(runs, evidence.ToolRuns{Tool: tool, Arguments: arguments, Asked: t.asked[arguments],
			Ended: t.ended[arguments]})
	}
	return runs
}

func sumOf(counts map[string]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// tallyToolRuns counts by tool. Tools that were neither run nor asked for are left out.
func tallyToolRuns(ev *evidence.Evidence, runs []toolserver.Call) map[string]*toolTally {
	tallies := map[string]*toolTally{}
	for _, name := range toolserver.Names() {
		tallies[name] = &toolTally{asked: map[string]int{}, started: map[string]int{}, ended: map[string]int{},
			answered: map[string]bool{}}
	}
	for _, run := range runs {
		if t := tallies[run.Tool]; t != nil {
			counts := t.started
			if run.End == toolserver.EndedWell {
				counts = t.ended
			}
			if run.End == "" || run.End == toolserver.EndedWell {
				counts[sortedArguments(string(run.Arguments))]++
			}
		}
	}
	nameOf := map[string]string{} // our tool by the id of a call
	for i := range ev.Exchanges {
		x := &ev.Exchanges[i]
		reply := x.ReadReply()
		for _, it := range reply.Items {
			if it.What == wire.Call {
				noteAskedCall(tallies, nameOf, it)
			}
		}
		asked := x.ReadRequest()
		for _, it := range asked.Items {
			if tool := nameOf[it.ID]; it.What == wire.Result && tool != "" && !it.IsError &&
				!failureWords.MatchString(resultText(it)) {
				tallies[tool].answered[it.ID] = true
			}
		}
	}
	return tallies
}

// noteAskedCall counts a call of the model under the tool of ours that it may mean: agents
// put the name of a server before it, or change its spelling.
func noteAskedCall(tallies map[string]*toolTally, nameOf map[string]string, call wire.Item) {
	for name, t := range tallies {
		role := strings.TrimPrefix(name, "conform_")
		switch {
		case strings.Contains(strings.ToLower(call.Name), role):
			t.asked[sortedArguments(call.Args)]++
			if call.ID != "" && strings.HasSuffix(call.Name, name) {
				nameOf[call.ID] = name
			}
		case strings.Contains(call.Args, role):
			t.isWrapped = true
		}
	}
}

// failureWords stand in a result that does not claim that the tool was run.
var failureWords = regexp.MustCompile(`(?i)\berr\b|error|fail|denied|reject|refus|cancel|abort|interrupt|time[ds]? ?out|` +
	`invalid|unknown|unavailable|disabled|not (found|available|permitted|allowed|run|executed|connected)|` +
	`skipped|no such|missing`)

func resultText(it wire.Item) string {
	if it.Node == nil {
		return it.Text
	}
	return it.Text + noError.ReplaceAllString(it.Node.Raw(), "")
}

// noError is the member that says that a result is none of an error.
var noError = regexp.MustCompile(`"is_error"\s*:\s*false`)

// sortedArguments is a form of arguments that does not depend on the order of members and
// on spaces.
func sortedArguments(text string) string {
	if strings.TrimSpace(text) == "" {
		return "{}"
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return text
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		return text
	}
	return string(sorted)
}

// ToolServerName is what agents call our tool server.
const ToolServerName = "conform"

// ToolServer says how an agent reaches our MCP server.
type ToolServer struct {
	// Command starts a server that speaks over stdin and stdout.
	Command []string
	// Env is added to the environment of that command.
	Env []string
	// URL is that of a server over HTTP, "" where there is none.
	URL string
	// Log is the file in which the server notes each call that it gets, "" for none.
	Log string
}

// Argv is the command of the server with its variables in front, so that no agent has to
// pass them on. The slice is the caller's.
func (t ToolServer) Argv() []string {
	if len(t.Env) == 0 {
		return slices.Clone(t.Command)
	}
	return slices.Concat([]string{"env"}, t.Env, t.Command)
}

// ConfigFile is the content of a file in which many agents read of MCP servers:
// {"mcpServers": {NAME: …}}.
func (t ToolServer) ConfigFile() string {
	server := map[string]any{"type": "http", "url": t.URL}
	if argv := t.Argv(); len(argv) > 0 {
		server = map[string]any{"type": "stdio", "command": argv[0], "args": argv[1:]}
	}
	out, err := json.Marshal(map[string]any{"mcpServers": map[string]any{ToolServerName: server}})
	if err != nil {
		panic(err) // of strings, lists and maps
	}
	return string(out)
}

// unseenRules gathers why the team's own rules saw nothing, by requirement; "" for one
// that saw something.
type unseenRules map[string]string

// observeRun notes what a run shows of the rules. Of several reasons the last by spelling is
// kept, so that the order of the cases does not matter.
func (u *unseenRules) observeRun(run CaseRun, rules []report.Rule) {
	if len(rules) == 0 || run.Evidence == nil {
		return
	}
	if *u == nil {
		*u = unseenRules{}
	}
	for _, r := range report.Judge(rules, run.Evidence) {
		reason, known := (*u)[r.Requirement]
		switch {
		case r.Observed > 0:
			(*u)[r.Requirement] = ""
		case r.Verdict == report.NotTestable && (!known || reason != ""):
			(*u)[r.Requirement] = max(reason, r.Reason)
		}
	}
}

// listReasons returns the reasons of the rules that no run shows.
func (u unseenRules) listReasons() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Values(u)), func(reason string) bool { return reason == "" })
}
