package check

import (
	"regexp"
	"strconv"
	"strings"
)

// modelName is what a model's name says of its abilities. Names that say
// nothing have version 0.0.
type modelName struct {
	family       string // "claude", "gpt", "gemini" or ""
	major, minor int
	// bare is the name without a date and without what clouds put around it:
	// two names with one bare form are one model.
	bare string
}

var (
	modelNumbers = map[string]*regexp.Regexp{
		"claude": regexp.MustCompile(`claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?:\D|$)`),
		"gpt":    regexp.MustCompile(`gpt-(\d+)(?:\.(\d+))?`),
		"gemini": regexp.MustCompile(`gemini-(\d+)(?:\.(\d+))?`),
	}
	modelDate = regexp.MustCompile(`[-@](\d{8}|\d{4}-\d{2}-\d{2}|latest)$`)
)

func parseModel(name string) modelName {
	m := modelName{bare: modelDate.ReplaceAllString(name[strings.LastIndexByte(name, '/')+1:], "")}
	for family, re := range modelNumbers {
		if g := re.FindStringSubmatch(name); g != nil {
			m.family = family
			m.major, _ = strconv.Atoi(g[1])
			m.minor, _ = strconv.Atoi(g[2])
		}
	}
	return m
}

func (m modelName) isBefore(major, minor int) bool {
	return m.major < major || m.major == major && m.minor < minor
}
