package agent

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// readOperationInput reads a line that is an input of an agent with operations, nil if it
// is none. An operation is written ID, ID:result, or ID!error.
func (m *machine) readOperationInput(name string, args []argument) input {
	switch name {
	case "submit":
		in := submissionInput{at: m.clock, shares: 2}
		for _, a := range args {
			switch a.key {
			case "shares":
				in.shares, _ = strconv.Atoi(a.value)
			case "tokens":
				n, _ := strconv.ParseUint(a.value, 10, 64)
				in.specs[len(in.specs)-1].BudgetReservation.MaxTokens = n
			default:
				in.specs = append(in.specs, ops.OperationSpec{
					ID: session.ID(a.value), Kind: ops.SubAgent, Depth: 1, Prompt: "p",
				})
			}
		}
		return in
	case "news":
		in := newsInput{at: m.clock}
		for _, a := range args {
			switch {
			case a.value == "open":
				in.open = true
			case a.key == "cause":
				in.cause = causesByName[a.value]
			case a.key == "steer":
				in.directives = append(in.directives, ops.Directive{
					ID: fmt.Sprintf("s%d", len(in.directives)+1), Text: a.value,
				})
			default:
				in.results = append(in.results, m.readOperation(a.value))
			}
		}
		return in
	case "watched":
		return operationEventsInput{[]ops.OpEvent{{
			Type: ops.EventProgress, ID: session.ID(args[0].value), Message: argumentAt(args, 1),
		}}}
	case "awaited":
		in := toolResultInput{
			m.clock, args[0].value, transcript.ToolResult{ToolUseID: args[0].value, Content: "awaited"},
			tool.Outcome{Status: tool.StatusComplete}, nil,
		}
		for _, a := range args[1:] {
			in.operations = append(in.operations, m.readOperation(a.value))
		}
		return in
	}
	return nil
}

func (m *machine) readOperation(text string) ops.OpResult {
	r := ops.OpResult{
		Spent:       session.Spent{Tokens: 7, Turns: 1},
		OpCausality: ops.OpCausality{SubmittedAt: epoch, CompletedAt: m.clock, Attempt: 1, Status: ops.Completed},
	}
	id, result, completed := strings.Cut(text, ":")
	if !completed {
		id, r.Error, _ = strings.Cut(text, "!")
		r.Status = ops.Failed
	}
	r.OpID, r.Text = session.ID(id), result
	return r
}

// describeOperationEffect is one line of output, "" for other effects.
func describeOperationEffect(e effect) string {
	switch e := e.(type) {
	case newsEffect:
		return "news?"
	case awaitNewsEffect:
		return "await news"
	case restoreEffect:
		var all []string
		for _, o := range e.operations {
			line := string(o.Spec.ID)
			if o.Result != nil {
				line += " " + string(o.Result.Status)
			}
			if o.Delivered {
				line += " delivered"
			}
			all = append(all, line)
		}
		return "restore: " + strings.Join(all, ", ")
	case settleEffect:
		return fmt.Sprintf("settle: %v %v", e.results, e.directives)
	case answerEffect:
		if e.answer.err != nil {
			return "refuse: " + e.answer.err.Error()
		}
		var all []string
		for _, s := range e.answer.specs {
			all = append(all, fmt.Sprintf("%s of %d tokens", s.ID, s.BudgetReservation.MaxTokens))
		}
		return "submitted: " + strings.Join(all, ", ")
	}
	return ""
}

// describeOperation is a record of an operation.
func describeOperation(o session.Operation) string {
	if o.End != nil {
		return fmt.Sprintf("operation %s %s", o.ID, o.End.Status)
	}
	return fmt.Sprintf("operation %s %s", o.ID, o.State)
}
