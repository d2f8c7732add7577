package report

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/internal/datafile"
)

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
			if link, err := url.Parse(text); err != nil || link.Host == "" || link.Scheme != "https" && link.Scheme != "http" {
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
	f.AddUnless(len(list) <= maxExcuses, "", "has %d entries, at most %d are read; use patterns with * and **", len(list), maxExcuses)
	first := map[string]int{}
	for i, e := range list {
		if !f.OK() {
			break
		}
		if at, known := first[e.Pattern]; known {
			f.Add(fmt.Sprintf("[%d].pattern", i), "%q stands in line %d already; keep one of them", e.Pattern, f.Line(fmt.Sprintf("[%d]", at)))
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
		{"reason", e.Reason, "", "say why the breach is known"}, {"issue", e.Issue, "address", "give the address of the issue in which it is worked on"},
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
