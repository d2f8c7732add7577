package report

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

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
