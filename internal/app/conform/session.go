package conform

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

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
	facts    []string
	prices   priceFlag
	priced   *specs.Prices      // from prices
	models   *specs.ModelPolicy // from facts
	later    []evidence.Found   // what resumed the first recording, with inOrder
}

func (f *sessionFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntSliceVar(&f.resumeAt, "resume-at", nil, "the `exchange`, counted from 0, at which a new process resumed the session; may be repeated")
	flags.BoolVar(&f.inOrder, "in-order", false, "the recordings are one session: each one after the first is of a process that resumed it")
	flags.BoolVar(&f.foreign, "foreign", false, "another tool recorded this from the providers' own hosts: what they accepted is contradicted, not failed")
	flags.StringArrayVar(&f.facts, "set", nil, "what a recording does not say: `models=` names, predicates such as claude >= 4.7, or a YAML file with the list models")
	f.prices.addTo(flags)
	cli.CommandLineOnly(flags, "resume-at", "in-order", "foreign", "set") // of the recordings that are named beside them
}

// resolve reads what --set and --prices name.
func (f *sessionFlags) resolve() (err error) {
	if f.priced, err = f.prices.read(); err != nil {
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
		return nil, cli.Usage("--resume-at: several recordings are named; name one, or say --in-order if they are one session")
	}
	return found, nil
}

// read reads a recording and adds what the flags say of it.
func (f *sessionFlags) read(found evidence.Found) (evidence.Recording, error) {
	rec, err := found.Read()
	if err != nil {
		return rec, err
	}
	if f.inOrder {
		if rec, err = joinRecordings(rec, f.later); err != nil {
			return rec, err
		}
	}
	rec.Evidence.Models, rec.Evidence.Prices = f.models, f.priced
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
		rec, err := next.Read()
		if err != nil {
			return rec, err
		}
		parts, names = append(parts, rec), append(names, rec.Path)
	}
	return evidence.Join(strings.Join(names, " + "), parts), nil
}
