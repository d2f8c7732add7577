package rkat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// schemaVersion is the version of the lines of json-stream. The first line has it.
const schemaVersion = 1

// format is the value of --output.
type format int

const (
	formatText format = iota
	formatJSON
	formatStream
)

var formats = []string{"text", "json", "json-stream"}

func (f *format) String() string { return formats[*f] }
func (f *format) Type() string   { return "format" }

func (f *format) Set(s string) error {
	for i, name := range formats {
		if s == name {
			*f = format(i)
			return nil
		}
	}
	return fmt.Errorf("it must be one of %s%s", strings.Join(formats, ", "), spelling.Hint(s, formats))
}

// outcome is the JSON result of a run: the only object of json, the last line of
// json-stream.
type outcome struct {
	Type          string      `json:"type,omitempty"`
	SchemaVersion int         `json:"schema_version,omitempty"`
	SessionID     *session.ID `json:"session_id"` // null when there is none
	RunID         string      `json:"run_id,omitempty"`
	agentResult
	// Output is the answer as the JSON that --output-schema asked for.
	Output json.RawMessage `json:"output,omitempty"`
	Error  *failure        `json:"error,omitempty"`
}

// agentResult is agent.Result without its ids.
type agentResult struct {
	Text       string                `json:"text"`
	StopReason string                `json:"stop_reason"`
	Usage      any                   `json:"usage"`
	Turns      int                   `json:"turns"`
	ToolCalls  int                   `json:"tool_calls"`
	Degraded   []handoff.Degradation `json:"degraded,omitempty"`
}

// failure is an error in JSON.
type failure struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// reportedError is an error that is on stdout already.
type reportedError struct{ error }

func (e *reportedError) Unwrap() error { return e.error }

// reportOutcome prints how a run ended and returns its error. out has the members that r does not.
func (a *app) reportOutcome(out outcome, r meerkat.RunResult, err error) error {
	r.SessionID = cmp.Or(r.SessionID, a.session) // known, though it could not be opened
	out.addResult(r, err)
	switch a.format {
	case formatText:
		return a.reportToPeople(r, out.Output != nil, err)
	case formatJSON:
		return a.markReported(a.writeLine(out), err)
	default: // formatStream
		out.Type = "result"
		if !a.firstLineWritten {
			out.SchemaVersion = schemaVersion
		}
		return a.markReported(a.writeLine(out), err)
	}
}

// markReported marks err as printed. If the line could not be written, that is the
// error.
func (a *app) markReported(writing, err error) error {
	switch {
	case err != nil:
		return &reportedError{err}
	case writing != nil:
		return &reportedError{writing}
	}
	return nil
}

func (out *outcome) addResult(r meerkat.RunResult, err error) {
	out.RunID = r.RunID
	out.agentResult = agentResult{r.Text, string(r.StopReason), r.Usage, r.Turns, r.ToolCalls, r.Degraded}
	if r.SessionID != "" {
		out.SessionID = &r.SessionID
	}
	if err != nil {
		_, kind := classifyError(err)
		out.Error = &failure{kind, cli.OneLine(err)}
	}
}

// answerWriter returns where the answer goes: one that was asked for as JSON stays JSON.
func (a *app) answerWriter(isJSON bool) io.Writer {
	if isJSON {
		return a.JSON()
	}
	return a.Stdout
}

func (a *app) reportToPeople(r meerkat.RunResult, isJSON bool, err error) error {
	if a.answerShown {
		fmt.Fprintln(a.Stdout)
	} else if r.Text != "" {
		w := a.answerWriter(isJSON)
		_, werr := io.WriteString(w, r.Text)
		if werr == nil {
			_, werr = fmt.Fprintln(w)
		}
		if werr != nil && err == nil {
			err = fmt.Errorf("stdout: %w", werr)
		}
	}
	if a.lostParts > 0 {
		a.noteLine(
			"%s of the conversation cannot be given to this model as it is; rkat render shows what",
			countOf(a.lostParts, "part"),
		)
	}
	switch c := a.compaction; {
	case c.BytesAfter > 0:
		a.noteLine("compacted: the next request has %d bytes instead of %d", c.BytesAfter, c.BytesBefore)
	case c.Reason != "":
		a.noteLine("%s", c.Reason)
	}
	if err == nil { // an error names the session itself
		if r.Text == "" {
			a.noteLine("the model answered nothing")
		}
		a.noteLine(
			"session %s: %s, %s, %s", r.SessionID, countOf(r.Turns, "turn"), countOf(r.ToolCalls, "tool call"),
			countOf(r.Usage.Total(), "token"),
		)
	}
	return err
}

func countOf[N int | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// handleEvent prints an event in the format of the run.
func (a *app) handleEvent(e agent.Event) {
	if e.ParentID != "" && a.format != formatStream {
		return // of a sub-agent: people follow the agent that they asked
	}
	switch {
	case e.ParentID != "":
	case e.Type == agent.Degraded:
		a.lostParts++
	case e.Type == agent.Retrying && e.Reason != "":
		a.noteLine("%s; %s", e.Error, e.Reason)
	case e.Type == agent.CompactionCompleted && e.Error == "":
		a.compaction = e
	case e.Type == agent.AssemblyAnomaly:
		a.noteUnknown(e.Rule, e.Error)
	}
	switch a.format {
	case formatStream:
		// Print one line. A write that fails here fails at the last line, too,
		// which reports it.
		line := struct {
			SchemaVersion int `json:"schema_version,omitempty"`
			agent.Event
		}{Event: e}
		if !a.firstLineWritten {
			line.SchemaVersion = schemaVersion
		}
		a.firstLineWritten = true
		_ = a.writeLine(line)
	case formatText:
		if a.StdoutIsTerminal() && !a.streaming {
			a.showEvent(e)
		}
	default: // formatJSON is one object, at the end
	}
}

// maxUnknown is how many lines about unknown parts of replies a run prints.
const maxUnknown = 10

// noteUnknown tells people, once a run for each kind, what of a reply this version does
// not know or could not keep as it came.
func (a *app) noteUnknown(rule, detail string) {
	switch rule {
	case stream.RuleUnknownBlock, stream.RuleUnknownDelta, stream.RuleUnknownEvent, stream.RuleInvalidUTF8:
	default:
		return
	}
	if a.unknown[detail] || len(a.unknown) > maxUnknown {
		return
	}
	if a.unknown == nil {
		a.unknown = map[string]bool{}
	}
	if a.unknown[detail] = true; len(a.unknown) > maxUnknown {
		detail = "more is unknown; --output json-stream shows all"
	}
	a.noteLine("[reply: %s]", detail)
}

// showEvent prints the answer while it arrives, on a terminal only: a program must
// read the whole answer or nothing.
func (a *app) showEvent(e agent.Event) {
	switch e.Type {
	case agent.OperationStarted, agent.OperationEnded:
		a.showOperation(e)
	case agent.TextDelta:
		a.answerShown = true
		fmt.Fprint(a.Stdout, e.Delta)
	case agent.StreamReset:
		fmt.Fprintln(a.Stderr)
		a.noteLine("[that answer is void]")
	case agent.ToolExecutionStarted:
		fmt.Fprintln(a.Stderr)
		a.noteLine("[%s]", e.Name)
	default: // people follow the text and the tools
	}
}

// followOnStderr shows a run on stderr for --stream.
func (a *app) followOnStderr(e agent.Event) {
	if e.ParentID != "" {
		return // of a sub-agent: its parent reports its progress
	}
	switch e.Type {
	case agent.TextDelta, agent.ReasoningDelta:
		fmt.Fprint(a.Stderr, e.Delta)
	case agent.BlockCompleted:
		if e.Block.Type == transcript.BlockText || e.Block.Type == transcript.BlockReasoning {
			fmt.Fprintln(a.Stderr)
		}
	case agent.StreamReset:
		a.printLine("[that answer is void]")
	case agent.Retrying:
		if e.Reason != "" {
			break // it is noted whatever is shown
		}
		a.printLine("[again in %d ms: %s]", *e.DelayMS, e.ErrorKind)
	case agent.ToolCallRequested:
		a.printLine("[%s %s]", e.Name, e.Args)
	case agent.ToolProgress:
		a.showProgress(&e)
	case agent.ToolExecutionCompleted, agent.ToolExecutionTimedOut:
		a.printLine("[%s: %s, %d ms]", e.Name, e.Status, *e.DurationMS)
	case agent.Degraded:
		a.printLine("[%s: %s]", e.Rule, e.Degradation.Reason)
	case agent.OperationStarted, agent.OperationProgress, agent.OperationEnded:
		a.showOperation(e)
	default: // the rest is for machines
	}
}

// showOperation shows what happened to a sub-agent, on one line.
func (a *app) showOperation(e agent.Event) {
	switch e.Type { //nolint:exhaustive // the caller knows
	case agent.OperationStarted:
		a.printLine("[sub-agent %s: started]", nameOfOperation(e.Name, e.OperationID))
	case agent.OperationProgress:
		a.printLine("[sub-agent %s: %s]", nameOfOperation(e.Name, e.OperationID), e.Message)
	default:
		a.printLine(
			"[sub-agent %s: %s]", nameOfOperation(e.Name, e.OperationID), strings.TrimSpace(e.Status+" "+e.Error),
		)
	}
}

// nameOfOperation returns the name that the model gave a sub-agent, or its id.
func nameOfOperation(label string, id session.ID) string {
	return cmp.Or(label, string(id))
}

// showProgress shows how far a tool is, on one line.
func (a *app) showProgress(e *agent.Event) {
	far := fmt.Sprintf("%g", *e.Progress)
	if e.Total != nil {
		far += fmt.Sprintf("/%g", *e.Total)
	}
	a.printLine("[%s: %s]", e.Name, strings.TrimSpace(far+" "+strings.Join(strings.Fields(e.Message), " ")))
}

// writeLine writes v as one line of JSON to stdout.
func (a *app) writeLine(v any) error {
	enc := json.NewEncoder(a.JSON())
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("stdout: %w", err)
	}
	return nil
}
