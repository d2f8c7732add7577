package inspector

import (
	"slices"

	"github.com/meerkat-go/conformance/conform/report"
)

// Condense returns a page with the exchanges, processes and blocks of those cases only
// in which something was found, for a copy that is kept for long. Verdicts stay. The page
// shares memory with p.
func (p Page) Condense() Page {
	omitted := false
	p.Cases = slices.Clone(p.Cases)
	for i, c := range p.Cases {
		if c.hasFindings() {
			continue
		}
		short := *c
		short.Exchanges, short.Processes, short.Blocks = nil, nil, nil
		p.Cases[i] = &short
		omitted = omitted || len(c.Exchanges) > 0
	}
	if omitted {
		p.Notices = append(slices.Clone(p.Notices), "This copy holds the exchanges of those cases only in which something was found.")
	}
	return p
}

// hasFindings reports whether there is something to look at in a case.
func (c *Case) hasFindings() bool {
	isQuiet := c.Verdict == report.Pass || c.Verdict == report.NotApplicable
	return !isQuiet || slices.ContainsFunc(c.Results, func(r Result) bool { return len(r.Findings) > 0 })
}
