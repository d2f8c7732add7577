package specs

import (
	_ "embed" // for members.yaml
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/internal/datafile"
)

//go:embed members.yaml
var memberFile []byte

// Objects describes the JSON objects of one provider's requests by name.
// "name:type" describes those whose type member says so, "name:" those without one.
type Objects map[string]Members

// Members describes the members of one object by name.
type Members map[string]Member

// Member says what one member may hold; see the head of members.yaml. A member
// without Types, Values and Range may hold anything.
type Member struct {
	Required bool
	// NotNull is set for a member that may be absent and must not be null.
	NotNull bool
	// Types are the letters of the JSON types, e.g. "sa", Elements those of what a list holds.
	Types, Elements string
	// Values are the only strings that are taken, in a list too.
	Values []string
	// Min and Max bound a number, a string's characters, a list's elements or an object's
	// members; nil for no bound.
	Min, Max *float64
	// Object names what the value, or each of its elements, is. ByName is set where
	// instead each member of the value is such an object.
	Object string
	ByName bool
	// Betas are the betas, without dates, of which one must be asked for.
	Betas []string
}

// RequestObjects describes the requests of a provider; the root is "request". It is
// shared and must not be changed. The error is one of the embedded file.
func RequestObjects(provider string) (Objects, error) {
	all, err := requestObjects()
	return all[provider], err
}

var requestObjects = sync.OnceValues(func() (map[string]Objects, error) { return parseObjects("members.yaml", memberFile) })

func parseObjects(file string, data []byte) (map[string]Objects, error) {
	var raw map[string]map[string]string
	f := datafile.Read(file, data, &raw, datafile.Options{Aliases: true})
	all := map[string]Objects{}
	for provider, objects := range raw {
		all[provider] = Objects{}
		for name, text := range objects {
			members := Members{}
			for _, word := range strings.Fields(text) {
				member, m, err := parseMember(word)
				f.AddUnless(err == nil, datafile.Join(provider, name), "%v", err)
				members[member] = m
			}
			all[provider][name] = members
		}
	}
	for provider, objects := range all {
		for name, members := range objects {
			for member, m := range members {
				f.AddUnless(m.Object == "" || objects.describes(m.Object), datafile.Join(provider, name), "%s names %q, which is not described", member, m.Object)
			}
		}
	}
	return all, f.Err()
}

func (o Objects) describes(name string) bool {
	for known := range o {
		if known == name || strings.HasPrefix(known, name+":") {
			return true
		}
	}
	return false
}

// IsClosed reports whether every type of the objects called name is described.
func (o Objects) IsClosed(name string) bool {
	_, closed := o["closed"][name]
	return closed
}

// IsFree reports whether the object may hold anything.
func (m Members) IsFree() bool {
	_, free := m["*"]
	return free
}

// Find returns the members of an object whose type member is typ, "" where it has
// none; nil when the object is not described.
func (o Objects) Find(name, typ string) Members {
	if m, ok := o[name]; ok {
		return m
	}
	return o[name+":"+typ]
}

var memberForm = regexp.MustCompile(`^(\w+|\*)([*^])?(?::([snibao]+))?(?:<([snibao]+)>)?(?:\(([^)]+)\))?(?:\[([-\d.]*?)\.\.([-\d.]*)\])?(?:=(\w+|\{\w+\}))?(?:!([\w|-]+))?$`)

func parseMember(word string) (name string, m Member, err error) {
	g := memberForm.FindStringSubmatch(word)
	if g == nil {
		return "", m, fmt.Errorf("%q is not name*:types<types>(values)[min..max]=object!betas", word)
	}
	m = Member{Required: g[2] == "*", NotNull: g[2] == "^", Types: g[3], Elements: g[4], Object: strings.Trim(g[8], "{}"), ByName: strings.HasPrefix(g[8], "{")}
	if g[5] != "" {
		m.Values = strings.Split(g[5], "|")
	}
	if g[9] != "" {
		m.Betas = strings.Split(g[9], "|")
	}
	if m.Min, err = parseBound(g[6]); err == nil {
		m.Max, err = parseBound(g[7])
	}
	return g[1], m, err
}

func parseBound(text string) (*float64, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // without a bound there is nothing to return
	}
	v, err := strconv.ParseFloat(text, 64)
	return &v, err
}
