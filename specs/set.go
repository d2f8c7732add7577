package specs

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

//go:embed sets
var setFiles embed.FS

// CurrentSet is the name of the whole catalogue as it is now.
const CurrentSet = "current"

// frozenRequirement is what a set keeps of a requirement: all that decides whether a
// breach turns a run red.
type frozenRequirement struct {
	ID          string      `yaml:"id"`
	Consequence Consequence `yaml:"consequence"`
	Where       []Where     `yaml:"where,omitempty"`
	Applies     Applies     `yaml:"applies,omitempty"`
	Since       string      `yaml:"since,omitempty"`
	Until       string      `yaml:"until,omitempty"`
	Checks      []string    `yaml:"checks"`
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
	frozen, err := parseSet(file, data)
	if err != nil {
		return nil, err
	}
	return freezeRequirements(all, frozen), nil
}

// parseSet reads a frozen set.
func parseSet(file string, data []byte) ([]frozenRequirement, error) {
	var list []frozenRequirement
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&list); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: holds no requirement", file)
	}
	return list, nil
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

// FreezeSet is the text of the file that freezes the current set.
func FreezeSet() ([]byte, error) {
	all, err := Set(CurrentSet)
	if err != nil {
		return nil, err
	}
	var list []frozenRequirement
	for _, r := range all {
		list = append(list, frozenRequirement{r.ID, r.Consequence, r.Where, r.Applies, r.Since, r.Until, r.Checks})
	}
	var b bytes.Buffer
	b.WriteString("# A frozen set of requirements: never change it, later months get files of their own.\n")
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	err = enc.Encode(list)
	return b.Bytes(), err
}
