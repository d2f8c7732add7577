package specs

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/datafile"
)

//go:embed sets
var setFiles embed.FS

// CurrentSet is the name of the whole catalogue as it is now.
const CurrentSet = "current"

// frozenRequirement is what a set keeps of a requirement: all that decides whether a
// breach turns a run red.
type frozenRequirement struct {
	ID          string      `yaml:"id" data:"required,is=id"`
	Consequence Consequence `yaml:"consequence" data:"required,is=consequence"`
	Where       []Where     `yaml:"where,omitempty"`
	Applies     Applies     `yaml:"applies,omitempty"`
	Since       string      `yaml:"since,omitempty" data:"is=day"`
	Until       string      `yaml:"until,omitempty" data:"is=day"`
	Checks      []string    `yaml:"checks" data:"required"`
}

// SetNames lists the sets: the current one, then the frozen ones by month.
func SetNames() []string {
	names := []string{CurrentSet}
	files, err := fs.Glob(setFiles, "sets/*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(path.Base(file), ".yaml"))
	}
	return names
}

// Set returns the requirements of a set in order of id. The current one is the
// catalogue without what is withdrawn. A set named by a month, yyyy-mm, is frozen: it
// holds what the catalogue asked for in that month and never becomes stricter.
// Requirements and checks that were added later are left out; a consequence is the
// milder one of then and now. What is withdrawn or narrowed since then is so here, too.
// Not frozen is the code of the checks.
func Set(name string) ([]Requirement, error) {
	all, err := Requirements()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r Requirement) bool { return r.Status == Withdrawn })
	if name == CurrentSet {
		return all, nil
	}
	if !slices.Contains(SetNames(), name) {
		return nil, fmt.Errorf("unknown set %q; use %s", name, strings.Join(SetNames(), " or "))
	}
	file := path.Join("sets", name+".yaml")
	data, err := setFiles.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var frozen []frozenRequirement
	if err := datafile.Read(file, data, &frozen, datafile.Options{Rules: rules}).Err(); err != nil {
		return nil, err
	}
	return freezeRequirements(all, frozen), nil
}

// freezeRequirements holds the requirements of the catalogue to what they were.
func freezeRequirements(catalogue []Requirement, frozen []frozenRequirement) (set []Requirement) {
	for _, r := range catalogue {
		i := slices.IndexFunc(frozen, func(f frozenRequirement) bool { return f.ID == r.ID })
		if i < 0 {
			continue
		}
		f := frozen[i]
		r.Checks = slices.DeleteFunc(slices.Clone(r.Checks), func(c string) bool { return !slices.Contains(f.Checks, c) })
		if len(r.Checks) == 0 {
			continue
		}
		r.frozen = &f
		set = append(set, r)
	}
	return set
}

// asRequirement has the members of f that decide about a consequence.
func (f frozenRequirement) asRequirement() Requirement {
	return Requirement{ID: f.ID, Consequence: f.Consequence, Where: f.Where, Since: f.Since, Until: f.Until}
}

// milderConsequence returns the consequence that is less severe.
func milderConsequence(a, b Consequence) Consequence {
	order := append(slices.Clone(Consequences), None) // the worst first
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}
