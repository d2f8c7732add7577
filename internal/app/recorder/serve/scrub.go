package serve

import (
	"slices"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// scrubRules reads --scrub.
func (f *modeFlags) scrubRules() (rules replay.Scrubs, err error) {
	for _, text := range f.scrub {
		r, err := replay.ParseScrub(text)
		if err != nil {
			return nil, cli.Usage("--scrub %s: %w", text, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// sayUnmatched names the given paths and patterns that match no request of the cassette path, and
// returns them: they may be misspelt. used are the rules that a replay needed. When there is no
// cassette, because nothing was recorded, nothing is matched.
func (a *app) sayUnmatched(path string, given replay.Scrubs, used map[string]int) (unmatched []string) {
	given = slices.DeleteFunc(slices.Clone(given), func(r replay.Scrub) bool { return !r.IsOwn() || used[r.String()] > 0 })
	if len(given) == 0 {
		return nil
	}
	what := "matched nothing"
	recording, err := cassette.Open(path)
	if err == nil {
		what, unmatched = "matches nothing in "+path, replay.UnmatchedScrubs(recording, given)
	} else {
		for _, rule := range given {
			unmatched = append(unmatched, rule.String())
		}
	}
	for _, rule := range unmatched {
		a.Say("scrub rule %s: %s; check its spelling, or remove it", rule, what)
	}
	return unmatched
}

// placeToNote returns what each interaction notes of the place where the program runs: what the
// rules need, and those of the cassette old, which may be nil. With --learn it is everything,
// because any of it may become a rule.
func (k *modeEnv) placeToNote(old *cassette.Cassette) replay.Place {
	if k.flags.learn {
		return k.here
	}
	rules := k.scrubs
	if old != nil {
		more, err := replay.ScrubsOf(old)
		if err == nil { // the replayer refuses it otherwise
			rules = append(rules, more...)
		}
	}
	return k.here.Only(rules)
}
