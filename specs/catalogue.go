package specs

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/internal/spelling"
)

//go:embed requirements/*.yaml
var requirementFiles embed.FS

// Requirements returns the embedded catalogue in order of id. The slice is the
// caller's; what its elements point to is shared and must not be changed.
func Requirements() ([]Requirement, error) {
	all, err := embedded()
	return slices.Clone(all), err
}

var embedded = sync.OnceValues(func() ([]Requirement, error) { return loadRequirements(requirementFiles) })

// errUnknownRequirement is wrapped by FindRequirement for an id outside the
// catalogue.
var errUnknownRequirement = errors.New("no such requirement")

// FindRequirement returns the embedded requirement with id, in any case of
// letters. For an unknown id the error names the nearest known one.
func FindRequirement(id string) (Requirement, error) {
	all, err := embedded()
	if err != nil {
		return Requirement{}, err
	}
	for _, r := range all {
		if strings.EqualFold(r.ID, id) {
			return r, nil
		}
	}
	return Requirement{}, fmt.Errorf("%s: %w; did you mean %s?", id, errUnknownRequirement, spelling.Rank(id, requirementIDs(all))[0])
}

func requirementIDs(all []Requirement) []string {
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.ID
	}
	return names
}

// loadRequirements reads every requirements/*.yaml below fsys, checks each
// entry and the catalogue as a whole, and returns it in order of id. All that
// is wrong is reported at once, each line naming the file and the id.
func loadRequirements(fsys fs.FS) ([]Requirement, error) {
	files, err := fs.Glob(fsys, "requirements/*.yaml")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("requirements: no *.yaml file; the catalogue is empty")
	}
	var all []Requirement
	var errs []error
	home := map[string]string{} // id or check → file
	for _, file := range files {
		data, err := fs.ReadFile(fsys, file)
		if err != nil {
			return nil, err
		}
		list, err := parseRequirements(file, data)
		errs = append(errs, err, claimIDs(home, file, list))
		all = append(all, list...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b Requirement) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// claimIDs enters the ids of list in home and reports those already there: an id
// stands for one sentence, a check id for one check.
func claimIDs(home map[string]string, file string, list []Requirement) error {
	var errs []error
	for _, r := range list {
		for _, id := range append([]string{r.ID}, r.Checks...) {
			if first, ok := home[id]; ok {
				errs = append(errs, fmt.Errorf("%s: %s: %q is already used in %s; ids are unique", file, r.ID, id, first))
			}
			home[id] = file
		}
	}
	return errors.Join(errs...)
}

// parseRequirements reads one requirement file: a YAML sequence of entries.
// file is named in errors and must be called after the area it holds, e.g.
// ord.yaml. Unknown keys are errors.
func parseRequirements(file string, data []byte) ([]Requirement, error) {
	var list []Requirement
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&list); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %s", file, yamlFault(data, err))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one YAML document; keep one sequence", file)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no requirement; write a sequence of entries or delete the file", file)
	}
	var errs []error
	for i, r := range list {
		name := cmp.Or(r.ID, fmt.Sprintf("entry %d", i+1))
		for _, fault := range r.findFaults(strings.TrimSuffix(path.Base(file), ".yaml")) {
			errs = append(errs, fmt.Errorf("%s: %s: %s", file, name, fault))
		}
	}
	return list, errors.Join(errs...)
}
