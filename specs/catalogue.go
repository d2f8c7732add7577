package specs

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/internal/datafile"
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
// letters, or the duty of servers with the id. For an unknown id the error names the nearest known one.
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
	if d := FindDuty(strings.ToUpper(id)); d != nil {
		return d.Requirement(), nil
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
// is wrong is reported at once, each line with its place and the id.
func loadRequirements(fsys fs.FS) (all []Requirement, err error) {
	home := map[string]string{} // id or check → file
	err = datafile.EachFile(fsys, "requirements/*.yaml", func(file string, data []byte) error {
		list, err := parseRequirements(file, data, home)
		all = append(all, list...)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b Requirement) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// parseRequirements reads one requirement file: a YAML sequence of entries. file must be called
// after the area it holds, e.g. ord.yaml. An id stands for one sentence, a check id for one check:
// home has those of the files before and gets those of this one.
func parseRequirements(file string, data []byte, home map[string]string) (list []Requirement, err error) {
	f := datafile.Read(file, data, &list, datafile.Options{Rules: rules, Aliases: true})
	for i, r := range list {
		at := f.Entry(i, r.ID)
		r.checkEntry(f, at, strings.TrimSuffix(path.Base(file), ".yaml"))
		for _, id := range append([]string{r.ID}, r.Checks...) {
			f.AddUnless(home[id] == "", at, "%q is already used in %s; ids are unique", id, home[id])
			home[id] = file
		}
	}
	return list, f.Err()
}
