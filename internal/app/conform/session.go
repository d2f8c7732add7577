package conform

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/specs"
)

// sessionFlags say what recordings do not say themselves: where a process was resumed,
// which models the agent may ask for, and that the provider itself answered.
type sessionFlags struct {
	resumeAt []int
	inOrder  bool
	foreign  bool
	hosts    hostFlags
	facts    []string
	prices   priceFlag
	priced   *specs.Prices      // from prices
	models   *specs.ModelPolicy // from facts
	later    []evidence.Found   // what resumed the first recording, with inOrder
}

func (f *sessionFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntSliceVar(&f.resumeAt, "resume-at", nil,
		"the `exchange`, counted from 0, at which a new process resumed the session; may be repeated")
	flags.BoolVar(&f.inOrder, "in-order", false,
		"the recordings are one session: each one after the first is of a process that resumed it")
	flags.BoolVar(&f.foreign, "foreign", false,
		"another tool recorded this from the providers' own hosts: what they accepted is contradicted, not failed")
	f.hosts.addTo(flags)
	flags.StringArrayVar(&f.facts, "set", nil,
		"what a recording does not say: `models=` names, predicates such as claude >= 4.7, or a YAML file with the list models")
	f.prices.addTo(flags)
	cli.CommandLineOnly(flags, "resume-at", "in-order", "foreign", "host",
		"set") // of the recordings that are named beside them
}

// resolve reads what --set and --prices name.
func (f *sessionFlags) resolve() (err error) {
	if f.priced, err = f.prices.read(); err != nil {
		return err
	}
	if err := f.hosts.resolve(); err != nil {
		return err
	}
	for _, fact := range f.facts {
		name, value, ok := strings.Cut(fact, "=")
		if !ok || name != "models" {
			return cli.Usage("--set %s: unknown; use models=NAME,NAME or models=FILE.yaml", fact)
		}
		if f.models, err = readModels(value); err != nil {
			return cli.Usage("--set models: %w", err)
		}
	}
	return nil
}

func readModels(value string) (*specs.ModelPolicy, error) {
	if !strings.HasSuffix(value, ".yaml") && !strings.HasSuffix(value, ".yml") {
		return specs.NewModelPolicy(strings.Split(value, ","))
	}
	data, err := os.ReadFile(value)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w", value, fileutil.Reason(err))
	}
	return specs.ParseModelPolicy(value, data)
}

// group returns the recordings to judge: all of them, or with --in-order the first, which
// read then joins with the others.
func (f *sessionFlags) group(found []evidence.Found) ([]evidence.Found, error) {
	switch {
	case f.inOrder:
		f.later = found[1:]
		return found[:1], nil
	case len(f.resumeAt) > 0 && len(found) > 1:
		return nil,
			cli.Usage("--resume-at: several recordings are named; name one, or say --in-order if they are one session")
	}
	return found, nil
}

// read reads a recording and adds what the flags say of it.
func (f *sessionFlags) read(found evidence.Found) (evidence.Recording, error) {
	rec, err := readRecording(found)
	if err != nil {
		return rec, err
	}
	if f.inOrder {
		if rec, err = joinRecordings(rec, f.later); err != nil {
			return rec, err
		}
	}
	rec.Evidence.Models, rec.Evidence.Prices = f.models, f.priced
	f.hosts.apply(&rec)
	if f.foreign {
		rec.DeclareForeign()
	}
	if len(f.resumeAt) > 0 {
		err = rec.MarkResume(f.resumeAt)
	}
	return rec, err
}

func joinRecordings(first evidence.Recording, later []evidence.Found) (evidence.Recording, error) {
	parts, names := []evidence.Recording{first}, []string{first.Path}
	for _, next := range later {
		rec, err := readRecording(next)
		if err != nil {
			return rec, err
		}
		parts, names = append(parts, rec), append(names, rec.Path)
	}
	return evidence.Join(strings.Join(names, " + "), parts), nil
}

// workdirFlags say in which folder an agent that is a command starts.
type workdirFlags struct {
	workdir string
	inPlace bool
}

func (f *workdirFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.workdir, "workdir", "", "start the agent in a copy of `DIR` (default: an empty folder)")
	flags.BoolVar(&f.inPlace, "in-place", false, "start the agent in --workdir itself, one case after the other")
}

// maxWorkdir bounds what is copied for each case, in bytes.
const maxWorkdir = 1 << 30

var errLargeFolder = errors.New("holds more than 1 GiB, which each case would copy")

// resolveFolder makes the folder absolute and refuses one that cannot be used.
func (f *workdirFlags) resolveFolder() error {
	if f.workdir == "" {
		if f.inPlace {
			return cli.Usage("--in-place: there is no folder to start in; name it with --workdir")
		}
		return nil
	}
	root, err := os.OpenRoot(f.workdir)
	if err != nil {
		return cli.Usage("--workdir %s: %w; name the folder in which you start the agent by hand", f.workdir,
			fileutil.Reason(err))
	}
	defer func() { _ = root.Close() }() // nothing was written
	temp, full := os.TempDir(), f.workdir
	for _, path := range []*string{&temp, &full} {
		if *path, err = filepath.Abs(*path); err == nil {
			*path, err = filepath.EvalSymlinks(*path)
		}
		if err != nil {
			return cli.Unreadable(*path, err)
		}
	}
	f.workdir = full
	if f.inPlace {
		return nil
	}
	if below, err := filepath.Rel(full, temp); err == nil && filepath.IsLocal(below) {
		return cli.Usage("--workdir %s: holds %s, where its copies would be; name a folder of the agent, or add --in-place", full, temp)
	}
	size := int64(0)
	err = fs.WalkDir(root.FS(), ".", func(_ string, entry fs.DirEntry, err error) error {
		if info, infoErr := entry.Info(); err == nil && infoErr == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		if size > maxWorkdir {
			return errLargeFolder
		}
		return err
	})
	if err != nil {
		return cli.Usage("--workdir %s: %w; name a smaller folder, or add --in-place", full, err)
	}
	return nil
}
