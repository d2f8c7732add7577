package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/internal/datafile"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/specs"
)

// Policy says what turns a report red beside failures. The zero value adds nothing.
type Policy struct {
	// Strict makes failures of warnings.
	Strict bool `json:"strict"`
	// FailOn is Warn where warnings make the exit code that of a failure, else Fail.
	FailOn Verdict `json:"fail_on"`
	// Require lists the requirements that must be seen, by id.
	Require []string `json:"require,omitempty"`
	// MustSee lists requirements without which a report is not testable: the team's own.
	MustSee []string `json:"-"`
}

// ParseRequired turns ids and areas into ids of the catalogue. The error names the
// nearest known name of an unknown one.
func ParseRequired(names []string, catalogue []specs.Requirement) (ids []string, err error) {
	for _, name := range names {
		found := false
		for _, r := range catalogue {
			if r.Status != specs.Withdrawn && (strings.EqualFold(r.ID, name) || strings.EqualFold(r.Area(), name)) {
				ids, found = append(ids, r.ID), true
			}
		}
		if !found {
			var known []string
			for _, r := range catalogue {
				known = append(known, r.ID, r.Area())
			}
			return nil, fmt.Errorf("%q is neither a requirement nor an area that has one; did you mean %s?", name,
				spelling.Rank(name, known)[0])
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// apply raises warnings to failures where the policy is strict.
func (p Policy) apply(results []Result) {
	for i := range results {
		r := &results[i]
		if !p.Strict || r.Verdict != Warn && len(r.Findings) == 0 {
			continue
		}
		r.Findings = slices.Clone(r.Findings)
		for k := range r.Findings {
			if f := &r.Findings[k]; f.Verdict == Warn {
				f.Verdict = decide.Breach(f.Consequence, f.Answer, true)
			}
		}
		r.judgeAgain(decide.Facts{Strict: true})
	}
}

// Coverage says how much of a set was seen.
type Coverage struct {
	Seen  int `json:"seen"`
	Total int `json:"total"`
	// Unseen are the requirements of which nothing was seen.
	Unseen []string `json:"unseen"`
	// Missing are those of them that the policy requires.
	Missing []string `json:"missing,omitempty"`
}

// String is the sentence of the summary.
func (c Coverage) String() string {
	return fmt.Sprintf("%d of %d requirements seen, %d not seen", c.Seen, c.Total, len(c.Unseen))
}

// Calls counts the calls to the model.
type Calls struct {
	Made     int `json:"made"`
	Accepted int `json:"accepted"`
	// Thinking counts the calls of a run that ask the model to think, Plain those that do not
	// although their model thinks only when it is asked.
	Thinking int `json:"thinking,omitempty"`
	Plain    int `json:"without_thinking,omitempty"`
}

// Add sums up two counts.
func (c Calls) Add(d Calls) Calls {
	return Calls{c.Made + d.Made, c.Accepted + d.Accepted, c.Thinking + d.Thinking, c.Plain + d.Plain}
}

// withdrawPasses makes not testable what passed although no call was accepted: the
// agent was never answered, so it had no occasion to go wrong.
func withdrawPasses(results []Result, reason string) {
	for i := range results {
		results[i].judgeAgain(decide.Facts{Unproven: reason})
	}
}

// A pattern names results as CHECK/CASE, e.g. SIG-014/call-signed/thinking-tool-loop/gemini.
// Its parts are separated by slashes: * stands for any text inside a part, ** for any
// number of whole parts. A pattern whose last part has no @ holds for every source and
// every way in.

// maxPatternParts bounds a pattern: a name has four parts.
const maxPatternParts = 16

// checkPattern says what is wrong with a pattern.
func checkPattern(pattern string) error {
	parts := strings.Split(pattern, "/")
	switch {
	case pattern == "":
		return errors.New("is empty; write CHECK/CASE, e.g. SIG-014/**/gemini")
	case len(parts) > maxPatternParts:
		return fmt.Errorf("has %d parts; CHECK/CASE has four, and ** stands for several", len(parts))
	case len(parts) == 1 && pattern != "**":
		return fmt.Errorf("%q names no case; write %s/** for all of them", pattern, pattern)
	}
	for _, part := range parts {
		if _, err := path.Match(part, ""); err != nil || part == "" {
			return fmt.Errorf("%q: the part %q is not a pattern; use letters, * and **", pattern, part)
		}
		if strings.Contains(part, "**") && part != "**" {
			return fmt.Errorf("%q: ** stands alone between slashes", pattern)
		}
	}
	return nil
}

// matchesName reports whether a pattern names a result.
func matchesName(pattern, check, caseName string) bool {
	parts := strings.Split(pattern, "/")
	name := strings.Split(check+"/"+caseName, "/")
	if last := len(name) - 1; !strings.Contains(parts[len(parts)-1], "@") {
		name[last], _, _ = strings.Cut(name[last], "@")
	}
	return matchesParts(parts, name)
}

// matchesParts walks both lists; after a failure it goes back to the last ** and lets
// it take one part more. That suffices: an earlier ** never has to be tried again.
func matchesParts(parts, name []string) bool {
	i, j := 0, 0
	star, taken := -1, 0
	for j < len(name) {
		switch {
		case i < len(parts) && parts[i] == "**":
			star, taken = i, j
			i++
		case i < len(parts) && matchesPart(parts[i], name[j]):
			i++
			j++
		case star >= 0:
			taken++
			i, j = star+1, taken
		default:
			return false
		}
	}
	return !slices.ContainsFunc(parts[i:], func(p string) bool { return p != "**" })
}

func matchesPart(pattern, part string) bool {
	ok, err := path.Match(pattern, part)
	return err == nil && ok
}

// Limits of a baseline: a longer list is not a list of exceptions.
const (
	MaxBaselineBytes = 1 << 20
	maxExcuses       = 2000
)

// baselineRules are those that the tags of [Excuse] name.
func baselineRules() map[string]datafile.Rule {
	return map[string]datafile.Rule{
		"pattern": func(_, text string) error { return checkPattern(text) },
		"address": func(_, text string) error {
			if link, err := url.Parse(text); err != nil || link.Host == "" ||
				link.Scheme != "https" && link.Scheme != "http" {
				return fmt.Errorf("%q is not an address that begins with https://", text)
			}
			return nil
		},
		"day": func(_, text string) error {
			if _, err := time.Parse(time.DateOnly, text); err != nil {
				return fmt.Errorf("%q is not a day written yyyy-mm-dd", text)
			}
			return nil
		},
	}
}

// ParseBaseline reads a list of breaches that are known. name stands in errors, which
// give the line of each fault.
func ParseBaseline(name string, data []byte) ([]Excuse, error) {
	var list []Excuse
	if len(data) <= MaxBaselineBytes && yaml.Unmarshal(data, &list) == nil && len(list) == 0 {
		return nil, nil // comments only, or an empty list
	}
	list = nil
	f := datafile.Read(name, data, &list, datafile.Options{MaxBytes: MaxBaselineBytes, Rules: baselineRules()})
	f.AddUnless(len(list) <= maxExcuses, "", "has %d entries, at most %d are read; use patterns with * and **",
		len(list), maxExcuses)
	first := map[string]int{}
	for i, e := range list {
		if !f.OK() {
			break
		}
		if at, known := first[e.Pattern]; known {
			f.Add(fmt.Sprintf("[%d].pattern", i), "%q stands in line %d already; keep one of them", e.Pattern,
				f.Line(fmt.Sprintf("[%d]", at)))
			continue
		}
		first[e.Pattern] = i
	}
	return list, f.Err()
}

// BaselineUpdate is a new text of a baseline and what differs from the old one.
type BaselineUpdate struct {
	Schema string `json:"schema"`
	Text   []byte `json:"-"`
	// Added and Removed are patterns.
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
}

// UpdateBaseline adds to the file what fails in r and is not excused, and removes what
// is stale in r. fresh gives reason, issue and day of the new entries. What stays keeps
// its comments.
func UpdateBaseline(name string, data []byte, r *Run, fresh Excuse) (u BaselineUpdate, err error) {
	u = BaselineUpdate{Schema: BaselineSchema, Added: []string{}, Removed: []string{}}
	excuses, err := ParseBaseline(name, data)
	if err != nil {
		return u, err
	}
	r = r.withBaseline(excuses)
	list := &yaml.Node{Kind: yaml.SequenceNode, HeadComment: baselineHeading}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err == nil && len(excuses) > 0 { // it was parsed above
		list = doc.Content[0]
		list.HeadComment = strings.TrimSpace(doc.HeadComment + "\n\n" + list.HeadComment)
	}
	stale := map[string]bool{}
	for _, used := range r.Baseline {
		stale[used.Pattern] = used.Verdict == Stale
	}
	known := map[string]bool{}
	list.Content = slices.DeleteFunc(list.Content, func(item *yaml.Node) bool {
		var e Excuse
		_ = item.Decode(&e) // it was parsed above
		if stale[e.Pattern] {
			u.Removed = append(u.Removed, e.Pattern)
			return true
		}
		known[e.Pattern] = true
		return false
	})
	for _, e := range r.newExcuses(fresh) {
		if known[e.Pattern] {
			continue
		}
		if err := e.checkFresh(); err != nil {
			return u, err
		}
		node := new(yaml.Node)
		if err := node.Encode(e); err != nil {
			return u, err
		}
		list.Content = append(list.Content, node)
		u.Added = append(u.Added, e.Pattern)
	}
	u.Text, err = encodeBaseline(list)
	return u, err
}

// checkFresh says which flag of a new entry is missing or wrong.
func (e Excuse) checkFresh() error {
	for _, part := range []struct{ flag, value, rule, want string }{
		{"reason", e.Reason, "", "say why the breach is known"},
		{"issue", e.Issue, "address", "give the address of the issue in which it is worked on"},
		{"expires", string(e.Expires), "day", "name the day, yyyy-mm-dd, on which to look at it again"},
	} {
		if strings.TrimSpace(part.value) == "" {
			return fmt.Errorf("--%s: is missing; %s", part.flag, part.want)
		}
		if rule := baselineRules()[part.rule]; rule != nil {
			if err := rule("", part.value); err != nil {
				return fmt.Errorf("--%s: %w", part.flag, err)
			}
		}
	}
	return nil
}

// encodeBaseline leaves out the brackets of an empty list.
func encodeBaseline(list *yaml.Node) ([]byte, error) {
	if len(list.Content) == 0 {
		return []byte(baselineHeading + "\n"), nil
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	err := encoder.Encode(list)
	return b.Bytes(), err
}

const baselineHeading = "# Breaches that are known: conform run --baseline FILE. An entry that excuses nothing is a failure."

// newExcuses are entries for the results that fail and are not excused: one for each
// check and case, so that another failure of the same case is still one. Those of a case
// that was not testable otherwise say that they end it.
func (r *Run) newExcuses(fresh Excuse) (list []Excuse) {
	ended := map[string]bool{}
	for _, res := range r.Results {
		ended[res.Case] = ended[res.Case] || res.Case != "" && res.Verdict == NotTestable
	}
	for _, res := range r.Results {
		if res.Verdict != Fail && res.Verdict != Flaky {
			continue
		}
		e := fresh
		e.Pattern, e.Flaky, e.EndsCase = res.Check+"/"+res.Case, res.Verdict == Flaky, ended[res.Case]
		list = append(list, e)
	}
	slices.SortStableFunc(list, func(a, b Excuse) int { return cmp.Compare(a.Pattern, b.Pattern) })
	return list
}
