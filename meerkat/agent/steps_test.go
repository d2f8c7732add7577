package agent

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

var update = flag.Bool("update", false, "write the outputs of the transcripts anew")

// TestTranscripts drives the step function through the files in
// testdata/steps. testdata/steps/README.md explains how to read them.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/steps/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			old, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			played := runTranscript(t, string(old))
			if *update {
				if err := os.WriteFile(file, []byte(played), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(string(old), "\n"), strings.Split(played, "\n")); diff != "" {
				t.Errorf("%s: the steps differ from the file; -update writes it anew:\n%s", file, diff)
			}
		})
	}
}

// runTranscript returns a transcript with the outputs that its inputs have now.
// A block is input lines, a line of four dashes, and output lines up to an
// empty line. Without the dashes the inputs only prepare what follows. Lines
// that begin with # are kept.
func runTranscript(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	machine := newMachine(t)
	inOutput := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case inOutput:
			inOutput = line != ""
			if inOutput {
				continue
			}
		case line == "----":
			inOutput = true
			line += "\n" + machine.takeOutput()
		case line == "":
			machine.output = nil // the lines before it only prepare
		case line[0] != '#':
			machine.apply(line)
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

// machine is the state of a run between two lines of a transcript.
type machine struct {
	t      *testing.T
	state  state
	clock  time.Time
	output []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	return &machine{t: t, state: fresh(t), clock: epoch}
}

// takeOutput returns what the lines since the last call have caused.
func (m *machine) takeOutput() string {
	m.output = append(m.output, describeState(&m.state))
	lines := m.output
	m.output = nil
	return strings.Join(lines, "\n")
}

// argument is a word of a line, KEY=VALUE or VALUE alone.
type argument struct{ key, value string }

// splitLine cuts a line into its words; values may be quoted as in Go.
func splitLine(t *testing.T, line string) []argument {
	t.Helper()
	var words []argument
	for rest := strings.TrimSpace(line); rest != ""; rest = strings.TrimSpace(rest) {
		var word argument
		if key, value, found := strings.Cut(rest, "="); found && !strings.ContainsAny(key, " \"{") {
			word.key, rest = key, value
		}
		if quoted, err := strconv.QuotedPrefix(rest); err == nil {
			word.value, _ = strconv.Unquote(quoted) // QuotedPrefix has checked it
			rest = rest[len(quoted):]
		} else {
			word.value, rest, _ = strings.Cut(rest, " ")
		}
		words = append(words, word)
	}
	return words
}

// apply performs one input line.
func (m *machine) apply(line string) {
	m.t.Helper()
	words := splitLine(m.t, line)
	name, args := words[0].value, words[1:]
	switch name {
	case "new":
		m.state, m.clock = fresh(m.t), epoch
		m.state.settings.prefix.Model = "claude-opus-4-5"
		m.state.settings.compaction.Prompt = "Sum up."
		m.set(line, args)
	case "set":
		m.set(line, args)
	case "resume":
		m.state = again(m.state)
		m.set(line, args)
	case "clock":
		m.clock = m.clock.Add(parseDuration(m.t, args[0].value))
	case "stored":
		m.store(line, args)
	case "edit":
		m.edit(line, args)
	default:
		m.step(m.readInput(line, name, args))
	}
}

// step gives the machine an input and notes the effects.
func (m *machine) step(in input) {
	m.t.Helper()
	var effects []effect
	m.state, effects = step(m.state, in)
	saved := false
	for _, e := range effects {
		m.output = append(m.output, describeEffect(e))
		switch e := e.(type) {
		case saveEffect:
			saved = true
		case callEffect:
			legal(m.t, e.request.Messages)
			agrees(m.t, &m.state.session)
		case finishEffect:
			if saved {
				legal(m.t, m.state.session.Messages)
				agrees(m.t, &m.state.session)
			}
		}
	}
}

// readInput reads a line that is an input of the step function.
func (m *machine) readInput(line, name string, args []argument) input {
	m.t.Helper()
	switch name {
	case "begin":
		return beginInput{m.clock, "r1", argumentAt(args, 0)}
	case "reply":
		return replyInput{m.clock, readReply(m.t, args)}
	case "fail":
		return m.readFailure(args)
	case "waited":
		return waitedInput{m.clock}
	case "start":
		return toolStartInput{m.clock, args[0].value}
	case "progress":
		done, err := strconv.ParseFloat(argumentAt(args, 1), 64)
		if err != nil {
			m.t.Fatalf("%s: %v", line, err)
		}
		return toolProgressInput{transcript.ToolCall{ID: args[0].value, Name: "run"}, tool.Progress{Done: done}}
	case "settle":
		status := tool.Status(args[1].value)
		result := transcript.ToolResult{
			ToolUseID: args[0].value, Content: argumentAt(args, 2), IsError: status != tool.StatusComplete,
		}
		return toolResultInput{m.clock, args[0].value, result, tool.Outcome{Status: status, Timeout: time.Second}, nil}
	case "answered":
		in := toolsDoneInput{at: m.clock}
		for _, a := range args {
			switch a.key {
			case "cause":
				in.cause = causesByName[a.value]
			case "tools":
				in.offers = readTools(a.value)
			}
		}
		return in
	}
	if in := m.readOperationInput(name, args); in != nil {
		return in
	}
	m.t.Fatalf("%s: unknown line", line)
	return nil
}

func argumentAt(args []argument, i int) string {
	if i < len(args) {
		return args[i].value
	}
	return ""
}

var causesByName = map[string]cause{"user": causeUser, "deadline": causeLate, "budget": causeBudget}

// readFailure reads "fail KIND" with what had arrived before.
func (m *machine) readFailure(args []argument) failureInput {
	in := failureInput{at: m.clock}
	failure := &provider.Error{Kind: provider.Kind(args[0].value), Provider: "anthropic"}
	in.err = failure
	if args[0].value == "bug" {
		in.err = errors.New("bug")
	}
	for _, a := range args[1:] {
		switch {
		case a.key == "cause":
			in.cause = causesByName[a.value]
		case a.key == "retry-after":
			after := parseDuration(m.t, a.value)
			failure.RetryAfter = &after
		case a.value == "shown":
			in.shown = true
		default:
			in.blocks = append(in.blocks, readBlock(m.t, a))
		}
	}
	return in
}

// readReply reads "reply STOP" with its blocks; each takes 13 tokens.
func readReply(t *testing.T, args []argument) stream.Reply {
	t.Helper()
	r := bare(transcript.StopReason(args[0].value))
	for _, a := range args[1:] {
		switch a.key {
		case "input":
			n, err := strconv.ParseUint(a.value, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			r.Usage.InputTokens = n
		default:
			r.Message.Blocks = append(r.Message.Blocks, readBlock(t, a))
		}
	}
	return r
}

// readBlock reads thought, text="…", call=ID or cut-call=ID.
func readBlock(t *testing.T, a argument) transcript.Block {
	t.Helper()
	switch {
	case a.key == "" && a.value == "thought":
		return transcript.Reasoning("hm <&>", &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: "EqQB"})
	case a.key == "text":
		return transcript.Text(a.value)
	case a.key == "call":
		return transcript.ToolUse(a.value, "run", []byte(`{"id": "`+a.value+`"}`))
	case a.key == "cut-call":
		return transcript.ToolUse(a.value, "run", []byte(`{"a":`))
	}
	t.Fatalf("%s=%s: want thought, text, call or cut-call", a.key, a.value)
	return transcript.Block{}
}

func readTools(names string) []transcript.ToolDef {
	tools := []transcript.ToolDef{}
	for name := range strings.FieldsSeq(strings.ReplaceAll(names, ",", " ")) {
		tools = append(tools, transcript.ToolDef{Name: name, InputSchema: (&counter{}).Defs()[0].InputSchema})
	}
	return tools
}

func parseDuration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// set changes what the run is asked to do.
func (m *machine) set(line string, args []argument) {
	m.t.Helper()
	s := &m.state.settings
	number := func(value string) int {
		n, err := strconv.Atoi(value)
		if err != nil {
			m.t.Fatalf("%s: %v", line, err)
		}
		return n
	}
	setters := map[string]func(value string){
		"max-turns": func(v string) { s.maxTurns = number(v) },
		"retries": func(v string) {
			s.retry = provider.RetryPolicy{
				MaxRetries: number(v), InitialDelay: time.Second, MaxDelay: time.Minute, Multiplier: 3,
			}
		},
		"policy":         func(v string) { s.interruptedPolicy = Policy(v) },
		"idempotent":     func(v string) { s.idempotent = func(name string) bool { return name == v } },
		"effort":         func(v string) { s.prefix.Effort = v },
		"system":         func(v string) { s.prefix.System = v },
		"tool-choice":    func(v string) { s.toolChoice = v },
		"tools":          func(v string) { s.prefix.Tools = readTools(v) },
		"provider":       func(v string) { s.prefix.Provider = v },
		"model":          func(v string) { s.prefix.Model = v },
		"max-tokens":     func(v string) { s.limits.MaxTokens = uint64(number(v)) },
		"max-tool-calls": func(v string) { s.limits.MaxToolCalls = number(v) },
		"max-duration":   func(v string) { s.limits.MaxDuration = parseDuration(m.t, v) },
		"session-turns":  func(v string) { s.limits.MaxTurns = number(v) },
		"warn-at":        func(v string) { s.warnAt = float64(number(v)) / 100 },
		"window": func(v string) {
			s.compaction = Compaction{Threshold: 0.5, Window: number(v), Keep: 1, Prompt: s.compaction.Prompt}
		},
		"operations":   func(v string) { s.operations = v == "yes" },
		"steered":      func(v string) { s.steered = v == "yes" },
		"compact-only": func(v string) { s.compactOnly = v == "yes" },
	}
	for _, a := range args {
		setter := setters[a.key]
		if setter == nil {
			m.t.Fatalf("%s: unknown setting %s", line, a.key)
		}
		setter(a.value)
	}
}

// store adds a record that an earlier run has left.
func (m *machine) store(line string, args []argument) {
	m.t.Helper()
	last := len(m.state.session.Messages) - 1
	entry := func(status transcript.CallStatus) transcript.CallRecord {
		return transcript.CallRecord{Message: last, CallID: argumentAt(args, 1), Name: "run", Status: status}
	}
	var r session.Record
	switch args[0].value {
	case "run":
		r = session.Run{At: m.clock, ID: "r0"}
	case "prefix":
		prefix := prefixed(m.t)
		prefix.Model = m.state.settings.prefix.Model
		r = prefix
	case "system":
		r = session.MessageRecord{At: m.clock, Message: transcript.System(args[1].value)}
	case "user":
		r = session.MessageRecord{At: m.clock, Message: transcript.User(args[1].value)}
	case "reply":
		r = session.MessageRecord{At: m.clock, Message: readReply(m.t, args[1:]).Message}
	case "result":
		result := transcript.ToolResult{ToolUseID: args[1].value, Content: argumentAt(args, 2)}
		r = session.MessageRecord{At: m.clock, Message: transcript.ToolResults(result)}
	case "running":
		r = session.Tool{At: m.clock, CallRecord: entry(transcript.CallRunning)}
	case "ended":
		e := entry(transcript.CallComplete)
		e.Result = &transcript.ToolResult{ToolUseID: args[1].value, Content: args[2].value}
		r = session.Tool{At: m.clock, CallRecord: e}
	default:
		m.t.Fatalf("%s: unknown record", line)
	}
	var err error
	if m.state.session, err = m.state.session.With(r); err != nil {
		m.t.Fatalf("%s: %v", line, err)
	}
}

// edit changes what is stored, as no run ever does.
func (m *machine) edit(line string, args []argument) {
	m.t.Helper()
	s := &m.state.session
	switch args[0].value {
	case "system-prompt":
		s.Prefix.System += "."
	case "tool-schema":
		s.Prefix.Tools[0].InputSchema = transcript.RawJSON(`{"type":"object"}`)
	case "tool-removed":
		s.Prefix.Tools = nil
	case "earlier-message":
		s.Messages[0].Content = "other"
	case "message-dropped":
		s.Messages = s.Messages[:1]
	case "signature":
		s.Messages[1].Blocks[0].Meta.Signature = "EqQb"
	case "argument-byte":
		s.Messages[1].Blocks[1].Args[1] = '\n'
	default:
		m.t.Fatalf("%s: unknown edit", line)
	}
}

// describeState says where the run stands.
func describeState(s *state) string {
	phases := map[phase]string{
		phaseNew: "new", phaseCalling: "calling", phaseWaiting: "waiting", phaseTools: "tools", phaseNews: "news",
		phaseWaitingForOps: "waiting for operations", phaseDone: "done",
	}
	line := fmt.Sprintf(
		"state: %s, turns %d, tool calls %d, tokens %d of %d", phases[s.phase], s.turns, s.toolCalls, s.usage.Total(),
		s.session.Usage.Total(),
	)
	if s.text != "" {
		line += fmt.Sprintf(", text %q", s.text)
	}
	return line
}

// describeEffect is one line of output.
func describeEffect(e effect) string {
	switch e := e.(type) {
	case saveEffect:
		records := make([]string, len(e.records))
		for i, r := range e.records {
			records[i] = describeRecord(r)
		}
		return "save: " + strings.Join(records, " | ")
	case eventEffect:
		return "event: " + describeEvent(&e.event)
	case callEffect:
		last := e.request.Messages[len(e.request.Messages)-1]
		line := fmt.Sprintf(
			"call: %d in the conversation, the last is %s", len(e.request.Messages), describeMessage(&last),
		)
		if e.request.ToolChoice != "" {
			line += ", tool choice " + e.request.ToolChoice
		}
		if e.stamp.attempt > 1 {
			line += fmt.Sprintf(", attempt %d", e.stamp.attempt)
		}
		if e.left > 0 {
			line += fmt.Sprintf(", for at most %v", e.left)
		}
		return line
	case toolsEffect:
		return "run tools: " + strings.Join(callIDs(e.calls), " ")
	case waitEffect:
		return fmt.Sprintf("wait: %v", e.delay)
	case finishEffect:
		if e.err == nil {
			return "finish: well"
		}
		return fmt.Sprintf("finish: %s: %v", ErrorKind(e.err), e.err)
	}
	if line := describeOperationEffect(e); line != "" {
		return line
	}
	return fmt.Sprintf("%+v", e)
}

func callIDs(calls []transcript.ToolCall) []string {
	ids := make([]string, len(calls))
	for i, c := range calls {
		ids[i] = c.ID
	}
	return ids
}

func describeRecord(r session.Record) string {
	switch r := r.(type) {
	case session.Run:
		return "run " + r.ID
	case session.Prefix:
		return joinNonEmpty("prefix", r.Provider, r.Model, r.Effort)
	case session.MessageRecord:
		return describeMessage(&r.Message)
	case session.Call:
		line := fmt.Sprintf("usage %s attempt %d", r.StopReason, r.Attempt)
		if r.Discarded {
			line += " discarded"
		}
		return line
	case session.Tool:
		return fmt.Sprintf("ledger %s %s", r.CallID, r.Status)
	case session.ErrorRecord:
		return "error " + r.Kind
	case session.RunEnd:
		return fmt.Sprintf("task turns %d tool calls %d", r.Turns, r.ToolCalls)
	case session.Compaction:
		return fmt.Sprintf("compaction through %d keeps %v %q", r.Through, r.Kept, r.Summary)
	case session.Budget:
		return "budget"
	case session.Annotation:
		return "mark " + r.Name
	case session.Operation:
		return describeOperation(r)
	case session.Refusal:
		return describeRefusal(&r)
	case session.Checkpoint:
		return "checkpoint " + string(r.Reason)
	}
	return fmt.Sprintf("%+v", r)
}

func describeRefusal(r *session.Refusal) string {
	line := "refusal"
	if r.TooLong {
		line += " too long"
	}
	if r.Repair != nil {
		line += fmt.Sprintf(", left out: %s %d to %d", r.Repair.Kind, r.Repair.From, r.Repair.Through)
	}
	return line
}

func describeMessage(m *transcript.Message) string {
	switch m.Role {
	case transcript.RoleAssistant:
		return "assistant " + describeBlocks(m)
	case transcript.RoleToolResults:
		var results []string
		for _, r := range m.Results {
			status := string(r.Status)
			if r.IsError {
				status = joinNonEmpty("error", status)
			}
			results = append(results, joinNonEmpty(r.ToolUseID, status, strconv.Quote(r.Content)))
		}
		return "results " + strings.Join(results, ", ")
	default:
		return fmt.Sprintf("%s %q", m.Role, m.Content)
	}
}

func describeBlocks(m *transcript.Message) string {
	var blocks []string
	for _, b := range m.Blocks {
		switch b.Type {
		case transcript.BlockText:
			blocks = append(blocks, strconv.Quote(b.Text))
		case transcript.BlockToolUse:
			blocks = append(blocks, "call "+b.ID)
		default:
			blocks = append(blocks, string(b.Type))
		}
	}
	return strings.Join(blocks, ", ")
}

// describeEvent is an event with the fields that tell cases apart.
func describeEvent(e *Event) string {
	parts := []string{
		string(e.Type), string(e.OperationID), e.ID, e.Status, e.Message, e.Rule, e.Reason, string(e.StopReason),
		e.ErrorKind,
	}
	if e.BudgetType != "" {
		parts = append(parts, fmt.Sprintf("%s %d of %d", e.BudgetType, e.Used, e.Limit))
	}
	if e.DelayMS != nil {
		parts = append(parts, fmt.Sprintf("in %v", time.Duration(*e.DelayMS)*time.Millisecond))
	}
	if e.Content+e.Result != "" {
		parts = append(parts, strconv.Quote(e.Content+e.Result))
	}
	return joinNonEmpty(parts...)
}

func joinNonEmpty(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}
