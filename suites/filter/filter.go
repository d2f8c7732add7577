// Package filter reads the language that selects requirements and specs by
// their labels: names joined by && || ! and parentheses, Ginkgo's own.
package filter

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/onsi/ginkgo/v2/types"
)

// Match reports whether something with the given labels is selected.
type Match func(labels []string) bool

var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// Parse reads an expression; the empty one selects everything. The error is one
// line that quotes the expression.
func Parse(expression string) (Match, error) {
	if expression == "" {
		return func([]string) bool { return true }, nil
	}
	match, err := types.ParseLabelFilter(expression)
	if err != nil {
		return nil, fmt.Errorf("filter %q: %w", expression, sentence(err))
	}
	return Match(match), nil
}

// sentence takes the reason out of Ginkgo's error: a title, the expression with
// a mark below it, the reason, and where to learn more.
func sentence(err error) error {
	reason := "cannot be read"
	for line := range strings.Lines(colours.ReplaceAllString(err.Error(), "")) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "Learn more") {
			break
		}
		if line != "" {
			reason = line
		}
	}
	return errors.New(strings.TrimSuffix(reason, "."))
}
