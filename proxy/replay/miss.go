package replay

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/llm"
)

// missStatus returns the status of a miss. No client retries it.
func missStatus(reason string) int {
	if reason == missTooLong {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}

// answerMiss refuses a request in the shape of its provider's errors and
// explains why. asked is redacted.
func (p *Replayer) answerMiss(w http.ResponseWriter, asked cassette.Request, found match) {
	f, status := formOf(asked), missStatus(found.reason)
	search := p.countMiss(found.reason) <= maxMissesSearched
	sentence, details := p.explainMiss(f, found, search)
	contentType, body := llm.ErrorBody(f.provider, status, sentence)
	in := cassette.Interaction{Request: asked, End: cassette.EndEOF, Response: cassette.Response{
		Status: status, Proto: asked.Proto, Body: body,
		Header: http.Header{"Content-Type": {contentType}, "X-Cassette-Miss": {found.reason},
			"X-Should-Retry": {"false"}},
	}}
	p.logExplanation(sentence, details)
	if p.cfg.Observe != nil {
		p.notifyObserver(in, true)
	}
	maps.Copy(w.Header(), in.Response.Header)
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // JSON for an API client
}

// countMiss counts a miss, and returns how many there were.
func (p *Replayer) countMiss(reason string) (missed int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tally.missed[reason]++
	return p.tally.countMissed()
}

// logExplanation logs an explanation as consecutive lines.
func (p *Replayer) logExplanation(sentence string, details []string) {
	p.logMu.Lock()
	defer p.logMu.Unlock()
	p.cfg.Log(sentence)
	for _, line := range details {
		p.cfg.Log("  " + line)
	}
}

// explainMiss says why a request has no answer: a sentence, the differences from
// the nearest recorded request, and what to do. After maxMissesSearched misses
// it returns only the sentence.
func (p *Replayer) explainMiss(asked form, found match, search bool) (sentence string, details []string) {
	where := asked.method + " " + asked.url
	none := fmt.Sprintf("%s: no answer to %s", p.cfg.Cassette.Name(), where)
	advice := p.recordAdvice()
	switch {
	case found.reason == missDamaged:
		return fmt.Sprintf("%s: %s", none, strings.TrimPrefix(found.err.Error(), p.cfg.Cassette.Name()+": ")), nil
	case found.reason == missTooLong:
		return fmt.Sprintf("%s: it has a body of more than %d MiB, the most that is read; --max-body reads longer ones",
			none, p.cfg.MaxBody>>20), nil
	case found.reason == missExhausted:
		return fmt.Sprintf("%s: %s was recorded and every answer to it is played; the agent asks once more than it did",
			p.cfg.Cassette.Name(), where), advice
	case !search:
		return none + fmt.Sprintf("; that is explained for the first %d misses", maxMissesSearched), nil
	}
	asked, s := asked.withoutVolatile(p.rules), p.index.takeSnapshot()
	near, ok := p.nearestCandidate(asked, s)
	if !ok {
		return none + "; all that was recorded went elsewhere: " + s.otherURLs(), advice
	}
	if l, ok := p.wouldTake(near, asked); ok {
		advice = append([]string{levelAdvice(l, near.at)}, advice...)
	}
	advice = append(p.scrubAdvice(near, asked), advice...)
	return fmt.Sprintf("%s; interaction %d is nearest%s, it differs in %s", none, near.at, near.similarityText(),
			changedPaths(near.changes)),
		append(changeLines(near.changes), advice...)
}

func levelAdvice(l Level, at int) string {
	if l == Nth {
		return fmt.Sprintf("--match nth would accept interaction %d for it, which answers whatever is asked", at)
	}
	return fmt.Sprintf("--match %s would accept interaction %d for it", l, at)
}

func (p *Replayer) recordAdvice() []string {
	if p.cfg.Record == "" {
		return nil
	}
	return []string{"to record what is missing: " + p.cfg.Record}
}

// wouldTake returns the level at which an unplayed candidate would answer, if
// the configured level does not.
func (p *Replayer) wouldTake(near candidate, asked form) (Level, bool) {
	for l := p.cfg.Match + 1; l < levels && !near.played; l++ {
		if near.form.reduceTo(l).computeDigest() == asked.reduceTo(l).computeDigest() {
			return l, true
		}
	}
	return 0, false
}

// similarityText says how much is the same. It rounds down, so that different
// requests are never 100 % the same.
func (c candidate) similarityText() string {
	if len(c.changes) == 0 {
		return ""
	}
	played := ""
	if c.played {
		played = " and played already"
	}
	return fmt.Sprintf(" (%d %% the same%s)", int(c.same*100), played)
}

// changeLines returns the first changes as lines for people.
func changeLines(changes []change) (out []string) {
	const most = 12
	for _, c := range changes[:min(most, len(changes))] {
		out = append(out, c.String())
	}
	switch more := len(changes) - most; {
	case len(changes) >= maxChanges:
		out = append(out, "and more")
	case more > 0:
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return out
}

// String returns the change on one line, its values cut to where they differ.
func (c change) String() string {
	where := cmp.Or(c.Path, "body")
	switch {
	case c.Old == "":
		return where + ": now " + truncateText(c.New) + ", not recorded"
	case c.New == "":
		return where + ": recorded " + truncateText(c.Old) + ", now absent"
	case c.Old == c.New:
		return where + ": another text where the recording has a secret taken out, which it learnt later"
	}
	from := 0
	if len(c.Old) > mostShown || len(c.New) > mostShown {
		from = commonPrefix(c.Old, c.New) - mostShown/4
	}
	return where + ": recorded " + truncateText(textFrom(c.Old, from)) + ", now " + truncateText(textFrom(c.New, from))
}

// mostShown is how much of a value is shown, in characters.
const mostShown = 80

func truncateText(s string) string {
	if r := []rune(s[:min(len(s), 4*mostShown+4)]); len(r) > mostShown {
		return string(r[:mostShown]) + "…"
	}
	return s
}

// textFrom returns s from a byte offset, moved to the next character boundary.
func textFrom(s string, from int) string {
	if from <= 0 {
		return s
	}
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return "…" + s[from:]
}

// changedPaths names the first few changed places.
func changedPaths(changes []change) string {
	const most = 4
	if len(changes) == 0 {
		return "a word that stands where the recording has a secret taken out"
	}
	var names []string
	for _, c := range changes[:min(most, len(changes))] {
		names = append(names, cmp.Or(c.Path, "its body"))
	}
	if more := len(changes) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// valueRules are the rules that need no knowledge of the place of a recording. ID takes out
// what UUID does, so the wider rules are the first that are tried to be spared.
var valueRules = []string{ScrubID, ScrubUUID, ScrubTime, ScrubDate}

// scrubAdvice names the rules under which an unplayed candidate would answer at the configured
// level: what differs are dates, times or ids.
func (p *Replayer) scrubAdvice(near candidate, asked form) (lines []string) {
	wouldAnswer := func(names []string) bool {
		return !near.played &&
			near.form.scrubbed(names).reduceTo(p.cfg.Match).computeDigest() == asked.scrubbed(names).reduceTo(p.cfg.Match).computeDigest()
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
	return []string{fmt.Sprintf("--scrub %s would accept interaction %d for it: only what such rules leave out differs",
		strings.Join(needed, " --scrub "), near.at)}
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
