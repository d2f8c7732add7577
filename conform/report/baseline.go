package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/internal/spelling"
)

// Limits of a baseline: a longer list is not a list of exceptions.
const (
	MaxBaselineBytes = 1 << 20
	maxExcuses       = 2000
)

// ParseBaseline reads a list of breaches that are known. name stands in errors, which
// give the line of each fault.
func ParseBaseline(name string, data []byte) ([]Excuse, error) {
	items, err := baselineItems(name, data)
	if err != nil {
		return nil, err
	}
	var list []Excuse
	var faults []error
	firstLine := map[string]int{}
	for _, item := range items {
		e, line, err := parseExcuse(item)
		if first := firstLine[e.Pattern]; err == nil && first > 0 {
			err = fmt.Errorf("pattern: %q stands in line %d already; keep one of them", e.Pattern, first)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s:%d: %w", name, line, err))
			continue
		}
		firstLine[e.Pattern] = item.Line
		list = append(list, e)
	}
	return list, errors.Join(faults...)
}

// baselineItems returns the entries of the file as they stand there.
func baselineItems(name string, data []byte) ([]*yaml.Node, error) {
	list, err := baselineList(name, data)
	if err != nil || list == nil {
		return nil, err
	}
	return list.Content, nil
}

// baselineList returns the one list of the file, nil where it holds comments only.
func baselineList(name string, data []byte) (*yaml.Node, error) {
	if len(data) > MaxBaselineBytes {
		return nil, fmt.Errorf("%s: has %d bytes, at most %d are read; a baseline lists exceptions", name, len(data), MaxBaselineBytes)
	}
	var doc yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	err := decoder.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, yamlError(name, err)
	case !errors.Is(decoder.Decode(new(yaml.Node)), io.EOF):
		return nil, fmt.Errorf("%s: holds more than one YAML document; keep one list", name)
	}
	root := doc.Content[0]
	switch {
	case root.Kind == yaml.ScalarNode && root.Tag == "!!null":
		return nil, nil
	case root.Kind != yaml.SequenceNode:
		return nil, fmt.Errorf("%s:%d: is not a list; begin each entry with \"- pattern: \"", name, root.Line)
	case len(root.Content) > maxExcuses:
		return nil, fmt.Errorf("%s: has %d entries, at most %d are read; use patterns with * and **", name, len(root.Content), maxExcuses)
	}
	root.HeadComment = strings.TrimSpace(doc.HeadComment + "\n\n" + root.HeadComment)
	return root, nil
}

var yamlErrorLine = regexp.MustCompile(`^yaml: line (\d+): `)

// yamlError puts the line where those of other faults stand.
func yamlError(name string, err error) error {
	if m := yamlErrorLine.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("%s:%s: %s", name, m[1], strings.TrimPrefix(err.Error(), m[0]))
	}
	return fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
}

var excuseKeys = []string{"pattern", "reason", "issue", "expires", "flaky", "ends_case"}

// parseExcuse reads one entry. With an error it returns the line of the fault.
func parseExcuse(item *yaml.Node) (e Excuse, line int, err error) {
	if item.Kind != yaml.MappingNode {
		return e, item.Line, errors.New("is not an entry; write pattern:, reason:, issue: and expires:") //nolint:staticcheck // ends with the name of a key
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(item.Content); i += 2 {
		key, value := item.Content[i], item.Content[i+1]
		switch {
		case !slices.Contains(excuseKeys, key.Value):
			return e, key.Line, fmt.Errorf("unknown key %q; %s", key.Value, spelling.Advice(key.Value, excuseKeys))
		case lines[key.Value] > 0:
			return e, key.Line, fmt.Errorf("%s stands twice", key.Value)
		case value.Kind != yaml.ScalarNode:
			return e, value.Line, fmt.Errorf("%s: is not a text", key.Value)
		}
		lines[key.Value] = key.Line
	}
	if err := item.Decode(&e); err != nil {
		key := "ends_case"
		if item.Decode(&struct{ Flaky bool }{}) != nil {
			key = "flaky"
		}
		return e, cmp.Or(lines[key], item.Line), fmt.Errorf("%s: is neither true nor false", key) // all others are texts
	}
	if key, err := e.findFault(); err != nil {
		return e, cmp.Or(lines[key], item.Line), fmt.Errorf("%s: %w", key, err)
	}
	return e, item.Line, nil
}

// findFault says which member of an entry is wrong and what is wrong with it.
func (e Excuse) findFault() (key string, err error) {
	if err := checkPattern(e.Pattern); err != nil {
		return "pattern", err
	}
	link, err := url.Parse(e.Issue)
	switch {
	case strings.TrimSpace(e.Reason) == "":
		return "reason", errors.New("is missing; say why the breach is known")
	case e.Issue == "":
		return "issue", errors.New("is missing; give the address of the issue in which it is worked on")
	case err != nil || link.Host == "" || link.Scheme != "https" && link.Scheme != "http":
		return "issue", fmt.Errorf("%q is not an address that begins with https://", e.Issue)
	case e.Expires == "":
		return "expires", errors.New("is missing; name the day, yyyy-mm-dd, on which to look at it again")
	}
	if _, err := time.Parse(time.DateOnly, e.Expires); err != nil {
		return "expires", fmt.Errorf("%q is not a day written yyyy-mm-dd", e.Expires)
	}
	return "", nil
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
	list, err := baselineList(name, data)
	if err != nil {
		return u, err
	}
	if list == nil {
		list = &yaml.Node{Kind: yaml.SequenceNode, HeadComment: baselineHeading}
	}
	stale := map[string]bool{}
	for _, used := range r.Baseline {
		stale[used.Pattern] = used.Verdict == Stale
	}
	known := map[string]bool{}
	list.Content = slices.DeleteFunc(list.Content, func(item *yaml.Node) bool {
		e, _, _ := parseExcuse(item) // it was parsed above
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
		if key, err := e.findFault(); err != nil {
			return u, fmt.Errorf("--%s: %w", key, err)
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
