package specs

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Path selects values in a JSON document: messages[*].content[0].type. It has no step that
// searches, so that following it takes no longer than reading the document.
type Path []PathStep

// PathStep goes from a value to a member, to an element, or to all of them.
type PathStep struct {
	// Name is a member; "" for a step to elements.
	Name string
	// Index is an element.
	Index int
	// All is every member or element.
	All bool
}

// maxPathSteps is more than any request is deep.
const maxPathSteps = 32

// pathStep is what a step of a path looks like, without the dot before a name.
var pathStep = regexp.MustCompile(`^(?:\.?([A-Za-z_$][A-Za-z0-9_$-]*)|\.?(\*)|\[(\d{1,6})\]|\[(\*)\]|\["([^"]+)"\])`)

// ParsePath reads a path. A leading $. may stand before it.
func ParsePath(text string) (Path, error) {
	rest := strings.TrimPrefix(strings.TrimPrefix(text, "$"), ".")
	if rest == "" {
		return nil, errors.New("is empty; write for example metadata.user_id or messages[*].role")
	}
	var p Path
	for at := 0; at < len(rest); {
		m := pathStep.FindStringSubmatch(rest[at:])
		switch {
		case strings.HasPrefix(rest[at:], ".."):
			return nil, fmt.Errorf("%q searches at every depth with .., which is not offered; name the members on the way", text)
		case strings.HasPrefix(rest[at:], "[?"):
			return nil, fmt.Errorf("%q has a filter, which is not offered; use names, [0] and [*]", text)
		case m == nil || at == 0 && m[0][0] == '.' || at > 0 && m[0][0] != '.' && m[0][0] != '[':
			return nil, fmt.Errorf("%q cannot be read from %q on; use names, [0], [*] and [\"odd name\"]", text, rest[at:])
		case len(p) == maxPathSteps:
			return nil, fmt.Errorf("%q has more than %d steps", text, maxPathSteps)
		}
		step := PathStep{Name: m[1] + m[5], All: m[2] != "" || m[4] != ""}
		if m[3] != "" {
			step.Index, _ = strconv.Atoi(m[3]) // at most six digits
		}
		p = append(p, step)
		at += len(m[0])
	}
	return p, nil
}

var plainName = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$-]*$`)

// String returns the path in its shortest form.
func (p Path) String() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.All:
			b.WriteString("[*]")
		case s.Name == "":
			fmt.Fprintf(&b, "[%d]", s.Index)
		case !plainName.MatchString(s.Name):
			fmt.Fprintf(&b, "[%q]", s.Name)
		default:
			b.WriteString("." + s.Name)
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

// UnmarshalText is ParsePath, for files.
func (p *Path) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePath(string(text))
	return err
}
