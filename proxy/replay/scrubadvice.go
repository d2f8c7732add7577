package replay

import (
	"fmt"
	"slices"
	"strings"
)

// valueRules are the rules that need no knowledge of the place of a recording. ID takes out
// what UUID does, so the wider rules are the first that are tried to be spared.
var valueRules = []string{ScrubID, ScrubUUID, ScrubTime, ScrubDate}

// scrubAdvice names the rules under which an unplayed candidate would answer at the configured
// level: what differs are dates, times or ids.
func (p *Replayer) scrubAdvice(near candidate, asked form) (lines []string) {
	wouldAnswer := func(names []string) bool {
		return !near.played && near.form.scrubbed(names).reduceTo(p.cfg.Match).computeDigest() == asked.scrubbed(names).reduceTo(p.cfg.Match).computeDigest()
	}
	if !wouldAnswer(valueRules) {
		return nil
	}
	needed := valueRules
	for _, name := range valueRules {
		without := slices.DeleteFunc(slices.Clone(needed), func(n string) bool { return n == name })
		if wouldAnswer(without) {
			needed = without
		}
	}
	return []string{fmt.Sprintf("--scrub %s would accept interaction %d for it: only what such rules leave out differs", strings.Join(needed, " --scrub "), near.at)}
}

// scrubbed returns f without what named rules take out.
func (f form) scrubbed(names []string) form {
	var rules Scrubs
	for _, name := range names {
		r, _ := ParseScrub(name) // the names are those of scrub
		rules = append(rules, r)
	}
	if f.json {
		f.body, _ = applyScrubs(f.body, rules, nil)
	}
	return f
}
