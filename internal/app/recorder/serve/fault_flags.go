package serve

import (
	"errors"
	"os"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/fault"
)

// faultFlags are the flags that make a replay differ from its recording.
type faultFlags struct {
	rechunk rechunk
	faults  string
	seed    seed
}

func (d *faultFlags) addTo(set *pflag.FlagSet) {
	set.Var(&d.rechunk, "rechunk", "replay: cut the same bytes otherwise, by `mode[:seed]`: 1-byte, mid-rune, mid-crlf, mid-field, coalesced, 64k, random")
	set.StringVar(&d.faults, "faults", "", "replay: `file` with a plan of faults")
	set.Var(&d.seed, "seed", "replay: the `number` that decides what --rechunk and --faults leave to chance (default the plan's, else 1)")
}

// hideFlags hides the flags in the help of commands that refuse them.
func (d *faultFlags) hideFlags(set *pflag.FlagSet) {
	for _, name := range []string{"rechunk", "faults", "seed"} {
		hideFlag(set, name)
	}
}

// checkSeeds refuses two seeds.
func (d *faultFlags) checkSeeds() error {
	if d.seed.set && d.rechunk.seed.set && d.seed.n != d.rechunk.seed.n {
		return cli.Usage("--rechunk %s: --seed says %s; give one seed", &d.rechunk, &d.seed)
	}
	return nil
}

// faultSettings are the values of the flags.
type faultSettings struct {
	rechunk fault.Mode
	faults  *fault.Plan
	seed    uint64
}

// readFaults reads the plan, chooses the seed and prints both.
func (a *app) readFaults(d *faultFlags) (out faultSettings, err error) {
	out.rechunk, out.seed = d.rechunk.mode, 1
	if d.faults != "" {
		data, err := os.ReadFile(d.faults)
		if err != nil {
			return out, cli.Unreadable("--faults "+d.faults, err)
		}
		plan, err := fault.Parse(d.faults, data)
		if err != nil {
			return out, cli.Usage("%w", err)
		}
		if out.faults = &plan; plan.Seed != nil {
			out.seed = *plan.Seed
		}
	}
	for _, s := range []seed{d.rechunk.seed, d.seed} {
		if s.set {
			out.seed = s.n
		}
	}
	if out.faults != nil {
		a.Note("%s: %s planned, seed %d", d.faults, cli.Count(len(out.faults.Faults), "fault", "faults"), out.seed)
	}
	if out.rechunk != "" {
		a.Note("--rechunk %s, seed %d", out.rechunk, out.seed)
	}
	return out, nil
}

// rechunk is a mode, and the seed that may stand behind it, as a flag.
type rechunk struct {
	mode fault.Mode
	seed seed
}

// String is the mode as Set takes it.
func (r *rechunk) String() string {
	if r.seed.set {
		return string(r.mode) + ":" + r.seed.String()
	}
	return string(r.mode)
}

// Type names the value in a command's help.
func (*rechunk) Type() string { return "mode" }

// Set reads MODE or MODE:SEED.
func (r *rechunk) Set(text string) error {
	mode, n, err := fault.ParseMode(text)
	if *r = (rechunk{mode: mode}); n != nil {
		r.seed = seed{*n, true}
	}
	return err
}

// seed is a number of 64 bits that may be absent, as a flag.
type seed struct {
	n   uint64
	set bool
}

// String is the seed, "" without one.
func (s *seed) String() string {
	if !s.set {
		return ""
	}
	return strconv.FormatUint(s.n, 10)
}

// Type names the value in a command's help.
func (*seed) Type() string { return "number" }

// Set reads a whole number.
func (s *seed) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return errors.New("use a whole number from 0 to 18446744073709551615")
	}
	*s = seed{n, true}
	return nil
}
