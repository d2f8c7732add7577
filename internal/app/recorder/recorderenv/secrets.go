package recorderenv

import (
	"github.com/spf13/pflag"
)

// AddExempt declares the flag for what the gate takes for a key by mistake.
func AddExempt(set *pflag.FlagSet, to *[]string) {
	set.StringSliceVar(to, "exempt", nil, "`digest` of a text that looks like a key and is none, as the refusal names it; may be repeated")
}
