package redact

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
)

// Own are the user's rules: what else is a credential, and what is not. A rule is the
// name of a header, a parameter or a member of a JSON document (PARENT.NAME for the
// members of one object only), or a regular expression between slashes.
type Own struct {
	redact, keep []*ownRule
}

type ownRule struct {
	text         string
	parent, name string         // as spellingOf writes them
	pattern      *regexp.Regexp // instead of a name
	used         atomic.Bool
}

// ParseOwn reads rules. An error names the rule and says what is wrong with it.
func ParseOwn(redact, keep []string) (*Own, error) {
	o := &Own{}
	for _, list := range []struct {
		what  string
		texts []string
		to    *[]*ownRule
	}{{"redact", redact, &o.redact}, {"keep", keep, &o.keep}} {
		for _, text := range list.texts {
			rule, err := parseOwnRule(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %q: %w", list.what, text, err)
			}
			*list.to = append(*list.to, rule)
		}
	}
	for _, r := range o.redact {
		for _, k := range o.keep {
			if r.text == k.text {
				return nil, fmt.Errorf("redact and keep: %q: is in both; remove one", r.text)
			}
		}
	}
	return o, nil
}

// sampleText is what no pattern covers that can be meant: it leaves letters.
const sampleText = "Say héron-7: it's 100 % \"ok\"."

// parseOwnRule reads one rule.
func parseOwnRule(text string) (*ownRule, error) {
	if strings.HasPrefix(text, "/") {
		if len(text) < 3 || !strings.HasSuffix(text, "/") {
			return nil, errors.New("a regular expression stands between slashes: /cust_[0-9]{8}/")
		}
		pattern, err := regexp.Compile(text[1 : len(text)-1])
		switch {
		case err != nil:
			return nil, fmt.Errorf("not a regular expression (RE2): %w", err)
		case pattern.MatchString(""):
			return nil, errors.New("matches the empty text, so everything; say what must be there")
		case strings.IndexFunc(pattern.ReplaceAllString(sampleText, ""), lex.IsASCIILetter) < 0:
			return nil, errors.New("matches every text; say what must be there")
		}
		return &ownRule{text: text, pattern: pattern}, nil
	}
	parent, name, dotted := strings.Cut(text, ".")
	if !dotted {
		parent, name = "", text
	}
	isName := name != "" && !strings.ContainsAny(text, " \t*[]$\"/") && !strings.Contains(name, ".")
	if !isName || dotted && parent == "" || len(text) > names.MaxLength {
		return nil, errors.New("use NAME, PARENT.NAME or /REGULAR EXPRESSION/")
	}
	return &ownRule{text: text, parent: names.Spelling([]byte(parent)), name: names.Spelling([]byte(name))}, nil
}

// Use adds the user's rules. Call it before the first interaction.
func (r *Redactor) Use(own *Own) {
	if r.own = own; own != nil && len(own.redact)+len(own.keep) == 0 {
		r.own = nil
	}
}

// Unused lists the rules that nothing matched so far.
func (o *Own) Unused() (list []string) {
	if o == nil {
		return nil
	}
	for _, rule := range append(append([]*ownRule{}, o.redact...), o.keep...) {
		if !rule.used.Load() {
			list = append(list, rule.text)
		}
	}
	return list
}
