package conform

import "github.com/meerkat-go/conformance/meerkat/handoff"

// handoffEntries are the rules by which rkat hands a conversation over to
// another model; its degradations and metrics print their names.
func handoffEntries() ([]*entry, error) {
	var entries []*entry
	for _, r := range handoff.Rules() {
		entries = append(entries, &entry{Kind: kindHandoff, ID: r.Name, Title: r.Sentence, related: r.Provider})
	}
	return entries, nil
}
