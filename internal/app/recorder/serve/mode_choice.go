package serve

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/app/cli"
)

// modesOfFlag names the modes in which a flag has a use. Flags that are not listed have a use in
// all.
var modesOfFlag = map[string][]string{
	"speed":            {modeReplay, modeMissing},
	"match":            {modeReplay, modeMissing},
	"receipt":          {modeReplay},
	"allow-unused":     {modeReplay},
	"strict":           {modeReplay},
	"max-age":          {modeReplay},
	"seed":             {modeReplay},
	"rechunk":          {modeReplay},
	"faults":           {modeReplay},
	"force":            {modeRecord},
	"learn":            {modeRecord},
	"no-swap":          {modeRefresh},
	"on-abort":         {modeRecord, modeMissing, modeRefresh},
	"allow-incomplete": {modeRecord, modeMissing, modeRefresh},
	"max-body":         {modeRecord, modeMissing, modeRefresh, modeReplay},
	"scrub":            {modeRecord, modeMissing, modeRefresh, modeReplay},
	"exempt":           {modeRecord, modeMissing, modeRefresh},
	"on-secret":        {modeRecord, modeMissing, modeRefresh},
	"redact":           {modeRecord, modeMissing, modeRefresh, modeReplay},
	"keep":             {modeRecord, modeMissing, modeRefresh, modeReplay},
	"websocket":        {modeRecord, modeMissing, modeRefresh, modePass},
	"upstream":         {modeRecord, modeMissing, modeRefresh, modePass},
	"upstream-ca":      {modeRecord, modeMissing, modeRefresh, modePass},
	"upstream-proxy":   {modeRecord, modeMissing, modeRefresh, modePass},
}

// uselessReason explains why a flag has no use in the modes that record.
var uselessReason = map[string]string{
	"rechunk": "a recording holds the chunks that were sent; record without, and replay with --rechunk",
	"faults":  "a recording holds what was sent; record without, and replay with --faults",
}

// chooseMode sets the mode, and refuses flags of the command line that would do nothing in it.
// When the variable CI decides the mode, such a flag is only reported, because the same command
// line has to work with and without CI.
func (a *app) chooseMode(f *modeFlags, given []string) error {
	named := f.mode != ""
	f.setMode(a.inCI())
	for _, name := range given {
		useful, limited := modesOfFlag[name]
		if !limited || slices.Contains(useful, f.mode) || !slices.Contains(modes, f.mode) {
			continue
		}
		if !named && uselessReason[name] == "" {
			a.Say("--%s: does nothing in mode %s; it goes with %s", name, f.mode, strings.Join(useful, ", "))
			continue
		}
		if uselessReason[name] != "" {
			return cli.Usage("--%s: %s", name, uselessReason[name])
		}
		return cli.Usage("--%s: does nothing in mode %s; it goes with %s", name, f.mode, strings.Join(useful, ", "))
	}
	return nil
}
