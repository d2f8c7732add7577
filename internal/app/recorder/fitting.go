package recorder

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usedIn names the modes that have a use for a flag; all have one for the others.
var usedIn = map[string][]string{
	"speed":            {modeReplay, modeMissing},
	"match":            {modeReplay, modeMissing},
	"receipt":          {modeReplay},
	"allow-unused":     {modeReplay},
	"max-age":          {modeReplay},
	"seed":             {modeReplay},
	"rechunk":          {modeReplay},
	"faults":           {modeReplay},
	"force":            {modeRecord},
	"no-swap":          {modeRefresh},
	"on-abort":         {modeRecord, modeMissing, modeRefresh},
	"allow-incomplete": {modeRecord, modeMissing, modeRefresh},
	"max-body":         {modeRecord, modeMissing, modeRefresh},
	"exempt":           {modeRecord, modeMissing, modeRefresh},
	"upstream":         {modeRecord, modeMissing, modeRefresh, modePass},
	"upstream-ca":      {modeRecord, modeMissing, modeRefresh, modePass},
}

// why some flags have no use where one might look for it.
var why = map[string]string{
	"rechunk": "a recording holds the chunks that were sent; record without, and replay with --rechunk",
	"faults":  "a recording holds what was sent; record without, and replay with --faults",
}

// note remembers the flags of the command line: what a file or a variable sets
// is meant for whatever mode has a use for it.
func (a *app) note(cmd *cobra.Command) {
	cmd.Flags().Visit(func(flag *pflag.Flag) { a.given = append(a.given, flag.Name) })
}

// settle decides on the mode, and refuses flags that were given and would do
// nothing in it: who gave one expects something. Where CI or the lack of it
// decides, the same command line has to do for both, and people are told.
func (a *app) settle(f *flags) error {
	named := f.mode != ""
	f.settle(a.inCI())
	for _, name := range a.given {
		useful, limited := usedIn[name]
		if !limited || slices.Contains(useful, f.mode) || !slices.Contains(modes, f.mode) {
			continue
		}
		if !named && why[name] == "" {
			a.say("--%s: does nothing in mode %s; it goes with %s", name, f.mode, strings.Join(useful, ", "))
			continue
		}
		if why[name] != "" {
			return usage("--%s: %s", name, why[name])
		}
		return usage("--%s: does nothing in mode %s; it goes with %s", name, f.mode, strings.Join(useful, ", "))
	}
	return nil
}
