package check

import "fmt"

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
			Check: r.check, Exchange: -1, Event: -1, Offset: -1, Path: runs.Tool, Fix: r.fix, Form: "the agent ran it %s",
			Message: fmt.Sprintf("the agent ran it %s%s to its end, and the model asked for that %s", times(runs.Ended), with, times(runs.Asked)),
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
