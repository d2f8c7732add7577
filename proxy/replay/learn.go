package replay

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// Proposal is a rule that two recordings of one program ask for, and why.
type Proposal struct{ Rule, Reason string }

// Learned is what two recordings of one program show.
type Learned struct {
	Proposals []Proposal
	// Pairs counts the requests that both recordings have, Equal those that are the
	// same under the rules given and proposed, Single those of one recording only.
	Pairs, Equal, Single int
}

// requestPair is one request of the two recordings, as JSON without volatile fields. heard
// is how many bytes of replies came before it.
type requestPair struct {
	bodies [2][]byte
	heard  [2]int
}

// learner collects proposals.
type learner struct {
	pairs   []requestPair
	replies [2]strings.Builder // all replies of each recording
	places  []Place
	rules   Scrubs
	out     Learned
}

// Learn compares two recordings of the same program, request by request, and proposes
// the rules that a replay needs: for what differs between them, and for what will differ in
// another place or on another day. given are the rules that hold already; now is when the
// recordings were made.
func Learn(first, second *cassette.Cassette, given Scrubs, now time.Time) (Learned, error) {
	l := learner{rules: slices.Clone(given)}
	if err := l.pairRequests(first, second); err != nil {
		return Learned{}, err
	}
	for _, name := range []string{ScrubUUID, ScrubID, ScrubTime, ScrubDate} {
		l.proposeVarying(name)
	}
	for _, name := range []string{ScrubFolder, ScrubHome, ScrubUser, ScrubHost} {
		l.proposeOccurring(name, func(string) bool { return true })
	}
	l.proposeOccurring(ScrubDate, func(text string) bool { return isDay(text, now) })
	for _, pair := range l.pairs {
		l.proposeOwn(l.ownChanges(pair))
	}
	for _, pair := range l.pairs {
		if len(l.ownChanges(pair)) == 0 {
			l.out.Equal++
		}
	}
	l.out.Pairs = len(l.pairs)
	return l.out, nil
}

// pairRequests pairs the requests of both recordings that went to the same URL, in
// their order.
func (l *learner) pairRequests(first, second *cassette.Cassette) error {
	type asked struct {
		body  []byte
		heard int
	}
	waiting := map[string][]asked{}
	for i, c := range []*cassette.Cassette{first, second} {
		for in, err := range c.All() {
			if err != nil {
				return err
			}
			heard := l.replies[i].Len()
			_, _ = l.replies[i].Write(in.Response.Body)
			f := formOf(in.Request).withoutVolatile(ruleSet{fields: volatileFields()})
			if !f.json {
				continue
			}
			if len(in.Place) > 0 {
				l.places = append(l.places, in.Place)
			}
			where := f.method + " " + f.url
			if c == first {
				waiting[where] = append(waiting[where], asked{f.body, heard})
			} else if queue := waiting[where]; len(queue) > 0 {
				l.pairs = append(l.pairs, requestPair{[2][]byte{queue[0].body, f.body}, [2]int{queue[0].heard, heard}})
				waiting[where] = queue[1:]
			} else {
				l.out.Single++
			}
		}
	}
	for _, left := range waiting {
		l.out.Single += len(left)
	}
	return nil
}

// applyRules returns both bodies of a pair under the rules so far, and what these took.
func (l *learner) applyRules(pair requestPair, more ...Scrub) (a, b []byte, takenA, takenB takenOut) {
	rules := append(slices.Clone(l.rules), more...)
	a, takenA = applyScrubs(pair.bodies[0], rules, l.places)
	b, takenB = applyScrubs(pair.bodies[1], rules, l.places)
	return a, b, takenA, takenB
}

// isReplied reports whether, before the request of a pair, the provider sent old in the first
// recording and now in the second. A replay sends the first again, so the program will repeat
// it. What the program said first is its own, although a model may repeat it.
func (l *learner) isReplied(pair requestPair, old, now string) bool {
	return old != "" && now != "" && strings.Contains(l.replies[0].String()[:pair.heard[0]], old) &&
		strings.Contains(l.replies[1].String()[:pair.heard[1]], now)
}

// ownChanges returns how a pair still differs by the program's own doing.
func (l *learner) ownChanges(pair requestPair) []change {
	a, b, _, _ := l.applyRules(pair)
	return slices.DeleteFunc(diffJSON(a, b), func(c change) bool {
		return l.isReplied(pair, strings.Trim(c.Old, `"`), strings.Trim(c.New, `"`))
	})
}

func (l *learner) addProposal(rule, reason string) {
	r, err := ParseScrub(rule)
	if err != nil || slices.ContainsFunc(l.rules, func(old Scrub) bool { return old.String() == r.String() }) {
		return
	}
	l.rules = append(l.rules, r)
	l.out.Proposals = append(l.out.Proposals, Proposal{rule, reason})
}

// proposeVarying proposes a named rule when what it takes out differs.
func (l *learner) proposeVarying(name string) {
	r, _ := ParseScrub(name)
	for _, pair := range l.pairs {
		_, _, a, b := l.applyRules(pair, r)
		for i := range min(len(a[name]), len(b[name])) {
			if a[name][i] != b[name][i] && !l.isReplied(pair, a[name][i], b[name][i]) {
				if name == ScrubID {
					l.retractProposal(ScrubUUID) // ids include them
				}
				l.addProposal(name, fmt.Sprintf("%s, then %s", truncateText(a[name][i]), truncateText(b[name][i])))
				return
			}
		}
	}
}

func (l *learner) retractProposal(rule string) {
	l.rules = slices.DeleteFunc(l.rules, func(r Scrub) bool { return r.String() == rule })
	l.out.Proposals = slices.DeleteFunc(l.out.Proposals, func(p Proposal) bool { return p.Rule == rule })
}

// proposeOccurring proposes a named rule when it takes out a text that differs elsewhere.
func (l *learner) proposeOccurring(name string, matters func(string) bool) {
	r, _ := ParseScrub(name)
	for _, pair := range l.pairs {
		_, _, a, _ := l.applyRules(pair, r)
		if i := slices.IndexFunc(a[name], matters); i >= 0 {
			l.addProposal(name, truncateText(a[name][i])+" differs elsewhere")
			return
		}
	}
}

// isDay reports whether a date is that of a time.
func isDay(text string, day time.Time) bool {
	for _, layout := range []string{"2006-01-02", "2006/01/02", "1/2/2006", "01/02/2006", "2.1.2006", "02.01.2006",
		"Jan 2", "January 2", "Jan _2", "2 Jan", "2 January"} {
		if strings.Contains(text, day.Format(layout)) {
			return true
		}
	}
	return false
}

var indexes = regexp.MustCompile(`\[\d+\]`)

// proposeOwn proposes patterns for the words that still differ, or the whole member where the
// numbers of words differ. No rule makes an element equal that one side lacks.
func (l *learner) proposeOwn(changes []change) {
	for _, c := range changes {
		path := "$." + indexes.ReplaceAllString(c.Path, "[*]")
		if c.Path == "" || strings.HasSuffix(c.Path, "]") && (c.Old == "" || c.New == "") {
			continue
		}
		reason := truncateText(c.Old) + ", then " + truncateText(c.New)
		if patterns := wordPatterns(c); len(patterns) > 0 {
			for _, p := range patterns {
				l.addProposal(path+" /"+p+"/", reason)
			}
			continue
		}
		l.addProposal(path, reason)
	}
}

// isAnchor reports whether both texts have the same word at i, and the word is in the requests
// themselves: patterns apply before the named rules put their marks, such as <date>.
func isAnchor(a, b []string, i int) bool {
	return i >= 0 && i < len(a) && a[i] == b[i] && !strings.ContainsAny(a[i], "<>")
}

// wordPatterns returns a pattern for each word in which two texts differ. It holds the word
// before it, or the word after it where the one before is the mark of a named rule. Texts that
// differ in another way have no patterns.
func wordPatterns(c change) (patterns []string) {
	var old, now string
	if json.Unmarshal([]byte(c.Old), &old) != nil || json.Unmarshal([]byte(c.New), &now) != nil {
		return nil
	}
	a, b := strings.Fields(old), strings.Fields(now)
	if len(a) != len(b) {
		return nil
	}
	for i := range a {
		switch {
		case a[i] == b[i]:
		case isAnchor(a, b, i-1):
			patterns = append(patterns, regexp.QuoteMeta(a[i-1])+`\s+\S+`)
		case isAnchor(a, b, i+1):
			patterns = append(patterns, `\S+\s+`+regexp.QuoteMeta(a[i+1]))
		default:
			return nil
		}
	}
	return patterns
}
