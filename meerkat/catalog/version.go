package catalog

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// version is a model version, compared by number: 4.10 is above 4.5.
type version struct{ major, minor int }

func (v version) isBelow(w version) bool {
	return v.major < w.major || v.major == w.major && v.minor < w.minor
}

func (v version) String() string {
	if v.minor == 0 {
		return strconv.Itoa(v.major)
	}
	return fmt.Sprintf("%d.%d", v.major, v.minor)
}

// UnmarshalYAML reads "4.5" as a version, not as a number.
func (v *version) UnmarshalYAML(n *yaml.Node) error {
	parsed, rest, ok := cutVersion(n.Value)
	if !ok || rest != "" {
		return fmt.Errorf("line %d: %q is not a version", n.Line, n.Value)
	}
	*v = parsed
	return nil
}

// snapshots are the dates that providers append, by the beginning of the name:
// -20250929, -2025-12-11, -09-2025.
var snapshots = []struct {
	prefix  string
	pattern *regexp.Regexp
	layout  string
}{
	{"claude-", regexp.MustCompile(`-20\d{6}$`), "-20060102"},
	{"gpt-", regexp.MustCompile(`-20\d{2}-\d{2}-\d{2}$`), "-2006-01-02"},
	{"gemini-", regexp.MustCompile(`-\d{2}-20\d{2}$`), "-01-2006"},
}

// withoutDate cuts the snapshot date off a model name. Digits that are not a date, or one
// as other providers write it, stay in the name.
func withoutDate(model string) string {
	for _, s := range snapshots {
		if date := s.pattern.FindString(model); date != "" && strings.HasPrefix(model, s.prefix) {
			if _, err := time.Parse(s.layout, date); err == nil {
				return strings.TrimSuffix(model, date)
			}
		}
	}
	return model
}

// parsedName is a model name taken apart: claude-opus-4-5 is line claude-opus,
// version 4.5; gpt-5.2-codex is line gpt, version 5.2, variant codex.
type parsedName struct {
	line    string
	version version
	variant string
	// versioned is false when the name holds no version at all.
	versioned bool
}

// String returns the one name that its provider would give the model: Anthropic writes
// versions with a dash, the others with a dot, and none writes .0.
func (n parsedName) String() string {
	version := n.version.String()
	if strings.HasPrefix(n.line, "claude") {
		version = strings.ReplaceAll(version, ".", "-")
	}
	name := n.line + "-" + version
	if n.variant != "" {
		name += "-" + n.variant
	}
	return name
}

// parseName takes apart a name without its date.
func parseName(base string) parsedName {
	family, rest, _ := strings.Cut(base, "-")
	if family == "claude" {
		return parseClaude(rest)
	}
	v, tail, ok := cutVersion(rest)
	if !ok {
		return parsedName{line: family, variant: rest}
	}
	return parsedName{line: family, version: v, variant: strings.TrimPrefix(tail, "-"), versioned: true}
}

// parseClaude reads LINE-MAJOR[-MINOR][-VARIANT] and the older
// MAJOR[-MINOR]-LINE. An 8-digit group is a date and never a version.
func parseClaude(rest string) parsedName {
	var n parsedName
	var words []string
	parts := strings.Split(rest, "-")
	for i := 0; i < len(parts); i++ {
		num, ok := parseNumber(parts[i])
		switch {
		case ok && !n.versioned:
			n.versioned, n.version.major = true, num
			if i+1 < len(parts) {
				if minor, ok := parseNumber(parts[i+1]); ok {
					n.version.minor = minor
					i++
				}
			}
		case strings.Contains(parts[i], ".") && !n.versioned: // claude-2.1
			v, tail, ok := cutVersion(parts[i])
			if ok && tail == "" {
				n.versioned, n.version = true, v
				continue
			}
			words = append(words, parts[i])
		default:
			words = append(words, parts[i])
		}
	}
	n.line = "claude"
	if len(words) > 0 {
		n.line, n.variant = "claude-"+words[0], strings.Join(words[1:], "-")
	}
	return n
}

// cutVersion reads "5.2-codex" as 5.2 and "-codex", "4o" as 4 and "o".
func cutVersion(s string) (v version, rest string, ok bool) {
	end := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(s)
	}
	v.major, ok = parseNumber(s[:end])
	if !ok {
		return version{}, s, false
	}
	rest = s[end:]
	if strings.HasPrefix(rest, ".") {
		tail := rest[1:]
		end = strings.IndexFunc(tail, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(tail)
		}
		if v.minor, ok = parseNumber(tail[:end]); !ok {
			return version{}, s, false
		}
		rest = tail[end:]
	}
	return v, rest, true
}

// parseNumber reads up to three digits without a leading zero.
func parseNumber(s string) (int, bool) {
	if s == "" || len(s) > 3 || len(s) > 1 && s[0] == '0' {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && s[0] != '+' && s[0] != '-'
}
