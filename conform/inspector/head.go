package inspector

import (
	"fmt"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/conform/report"
)

// RunHead is the head of a page about a run that has ended.
func RunHead(r *report.Run) Head {
	summary := r.Summary
	h := Head{
		Kind: "run", Tool: r.Tool, Subject: r.Subject, Set: r.Set.Name, Sources: r.Source, Ingress: r.Ingress,
		Started: r.Started, Took: time.Duration(r.DurationMS) * time.Millisecond, Policy: r.Policy, Summary: &summary, Calls: r.Calls,
		Unshown: r.Unshown(),
	}
	if r.Guard != "" {
		h.addNotice("A guard ended the run early: %s.", r.Guard)
	}
	if r.Isolation != nil && !r.Isolation.Enforced {
		h.addNotice("The agent was not isolated: %s", r.Isolation.Reason)
	}
	for _, host := range r.Hosts {
		h.addNotice("The agent tried to reach %s (%d times). %s", host.Name, host.Attempts, host.Note)
	}
	if len(summary.Coverage.Missing) > 0 {
		h.addNotice("Required and not seen: %s.", strings.Join(summary.Coverage.Missing, ", "))
	}
	return h
}

// CheckHead is the head of a page about recorded traffic.
func CheckHead(c *report.Checked) Head {
	summary := c.Summary
	client, calls := c.Traffic()
	h := Head{Kind: "check", Tool: c.Tool, Policy: c.Policy, Summary: &summary, Calls: &calls}
	h.Subject.Name = client
	if n := len(c.PassedOver); n > 0 {
		h.addNotice("%d files were passed over: they are not recordings.", n)
	}
	return h
}

func (h *Head) addNotice(format string, args ...any) {
	h.Notices = append(h.Notices, strings.TrimSpace(fmt.Sprintf(format, args...)))
}
