package specs

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ModelName is what the name of a model says. Names that say nothing of a version
// have 0.0.
type ModelName struct {
	// Family is claude, gpt, o, gemini, or "" for every other model.
	Family       string
	Major, Minor int
	// Bare is the name without a date and without what clouds put around it: two
	// names with one bare form are one model.
	Bare string
}

var (
	modelFamilies = []struct {
		name    string
		numbers *regexp.Regexp
	}{
		{"claude", regexp.MustCompile(`claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?:\D|$)`)},
		{"gemini", regexp.MustCompile(`gemini-(\d+)(?:\.(\d+))?`)},
		{"gpt", regexp.MustCompile(`gpt-(\d+)(?:\.(\d+))?`)},
		{"o", regexp.MustCompile(`^o(\d+)()(?:-|$)`)},
	}
	modelSuffix = regexp.MustCompile(`(-v\d+(:\d+)?)?$`)
	modelDate   = regexp.MustCompile(`[-@](\d{8}|\d{4}-\d{2}-\d{2}|latest|00\d)$`)
)

// ParseModel reads a name as it stands in a request: with or without a date, a
// region or publisher before it (models/, us.anthropic.), or a revision behind it.
func ParseModel(name string) ModelName {
	bare := name[strings.LastIndexByte(name, '/')+1:]
	if at := strings.Index(bare, "claude-"); at > 0 {
		bare = bare[at:]
	}
	m := ModelName{Bare: bare}
	if strings.Contains(bare, "-v") {
		m.Bare = modelSuffix.ReplaceAllString(bare, "")
	}
	if strings.HasSuffix(m.Bare, "latest") || strings.Trim(m.Bare[max(0, len(m.Bare)-2):], "0123456789") == "" {
		m.Bare = modelDate.ReplaceAllString(m.Bare, "")
	}
	for _, family := range modelFamilies {
		if g := family.numbers.FindStringSubmatch(bare); g != nil {
			m.Family = family.name
			m.Major, _ = strconv.Atoi(g[1])
			if g[2] != "" {
				m.Minor, _ = strconv.Atoi(g[2])
			}
			return m
		}
	}
	if word, _, _ := strings.Cut(m.Bare, "-"); slices.Contains(familyNames(), word) {
		m.Family = word
	}
	return m
}

func familyNames() (names []string) {
	for _, f := range modelFamilies {
		names = append(names, f.name)
	}
	return names
}

// HasVersion reports whether the name says which version the model is.
func (m ModelName) HasVersion() bool { return m.Major > 0 }

// IsBefore reports whether m is older than a version, 0.0 being the oldest.
func (m ModelName) IsBefore(major, minor int) bool {
	return m.Major < major || m.Major == major && m.Minor < minor
}

// HasWord reports whether word stands between the dashes of the name, as opus in
// claude-opus-4-6.
func (m ModelName) HasWord(word string) bool {
	return slices.Contains(strings.Split(m.Bare, "-"), word)
}
