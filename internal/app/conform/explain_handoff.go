package conform

import "github.com/meerkat-go/conformance/meerkat/handoff"

// handoffSections say where one meets the name of a rule.
var handoffSections = []paragraph{{"where it shows", "rkat applies the hand-off rules in order when another provider, model or " +
	"account continues a conversation. A degraded event, the degradations counted by --metrics-file and the lines of rkat render " +
	"name the rule that caused them. The stored conversation stays as it was."}}

// handoffEntries are the rules by which rkat hands a conversation over to
// another model; its degradations and metrics print their names.
func handoffEntries() ([]*entry, error) {
	var entries []*entry
	for _, r := range handoff.Rules() {
		entries = append(entries, &entry{Kind: kindHandoff, ID: r.Name, Title: r.Sentence, related: r.Provider, Sections: handoffSections})
	}
	return entries, nil
}
