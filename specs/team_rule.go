package specs

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/wires"
)

// TeamArea is the area of the ids of a team's own rules. No requirement of the catalogue
// has it.
const TeamArea = "TEAM"

// TeamRule is a requirement of a team: over checks of the catalogue, or an assertion on
// requests. [ParseTeamRules] reads a file of them.
type TeamRule struct {
	// Requirement has ID, Title, Text, Consequence, Applies, Why, Fix and Checks.
	Requirement Requirement
	// File and Line say where it stands.
	File string
	Line int
	// Uses are the checks of the catalogue that judge it, parallel to the checks of
	// Requirement; nil where Assertion does.
	Uses      []string
	Assertion *Assertion
}

// Assertion says something of every request for an answer, by a header or by the values
// that a path selects in the body. Equals, Matches and Same speak of what is there;
// Present says that it must be there.
type Assertion struct {
	// Header is the name of a header; "" where Path says what is looked at.
	Header string
	Path   Path
	// Present and Absent say that there must be such a value, or none.
	Present, Absent bool
	// Equals is what each value must be, as JSON; "" for anything.
	Equals string
	// Matches is what each text, number, true or false must match; nil for anything.
	Matches *regexp.Regexp
	// Same says that the values are those of the request before in the conversation.
	Same bool
}

// Selector names what the assertion looks at, for messages.
func (a *Assertion) Selector() string {
	if a.Header != "" {
		return "header " + a.Header
	}
	return a.Path.String()
}

// demandsAnything reports whether the assertion demands anything.
func (a *Assertion) demandsAnything() bool {
	return a.Present || a.Absent || a.Equals != "" || a.Matches != nil || a.Same
}

// findContradiction says what a and b cannot both have, "" where nothing hinders them.
func (a *Assertion) findContradiction(b *Assertion) string {
	switch {
	case a.Selector() != b.Selector():
		return ""
	case a.Present && b.Absent || a.Absent && b.Present:
		return "present and absent"
	case a.Equals != "" && b.Equals != "" && a.Equals != b.Equals:
		return "equal to " + a.Equals + " and to " + b.Equals
	}
	for _, pair := range [][2]*Assertion{{a, b}, {b, a}} {
		if value, re := pair[0].Equals, pair[1].Matches; value != "" && re != nil &&
			!re.MatchString(scalarText(value)) {
			return "equal to " + value + " and match " + re.String()
		}
	}
	return ""
}

// scalarText is what an expression is held against: a string without its quotes.
func scalarText(value string) string {
	var text string
	if json.Unmarshal([]byte(value), &text) == nil {
		return text
	}
	return value
}

// overlapsWith reports whether two rules speak of one provider.
func (r *TeamRule) overlapsWith(other *TeamRule) bool {
	mine, theirs := r.Requirement.Applies.Provider, other.Requirement.Applies.Provider
	for _, p := range wires.Names() {
		if emptyOrContains(mine, p) && emptyOrContains(theirs, p) {
			return true
		}
	}
	return false
}

// isTeamID reports whether id is TEAM-NNN.
func isTeamID(id string) bool {
	area, ok := areaOf(id)
	return ok && area == TeamArea
}

// IsTeamRule reports whether a requirement with the id is a team's own.
func IsTeamRule(id string) bool { return strings.HasPrefix(id, TeamArea+"-") }

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
			return nil,
				fmt.Errorf("%q searches at every depth with .., which is not offered; name the members on the way",
					text)
		case strings.HasPrefix(rest[at:], "[?"):
			return nil, fmt.Errorf("%q has a filter, which is not offered; use names, [0] and [*]", text)
		case m == nil || at == 0 && m[0][0] == '.' || at > 0 && m[0][0] != '.' && m[0][0] != '[':
			return nil, fmt.Errorf("%q cannot be read from %q on; use names, [0], [*] and [\"odd name\"]",
				text, rest[at:])
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
