package serve

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/proxy/record"
)

// addFidelity declares the flags that say what of a reply is kept.
func (f *modeFlags) addFidelity(set *pflag.FlagSet) {
	set.Var(&f.onAbort, "on-abort", "record: what happens to the reply when the client leaves: cancel, or `drain[:MiB[:seconds]]`, which reads on")
	set.BoolVar(&f.allowIncomplete, "allow-incomplete", false, "record: replies that are cut are intended; the cassette declares it")
}

// abort is record.Drain as a flag. It is a pflag.Value.
type abort record.Drain

// defaultDrain is drain without numbers. Every reply of a model fits into it, and a run does not
// end much later.
var defaultDrain = abort{Bytes: 8 << 20, Time: 10 * time.Second}

func (d *abort) String() string {
	if *d == (abort{}) {
		return ""
	}
	return fmt.Sprintf("drain:%d:%g", d.Bytes>>20, d.Time.Seconds())
}

// Type names the value in a command's help.
func (*abort) Type() string { return "policy" }

// Set reads cancel, drain, drain:16 or drain:16:30.
func (d *abort) Set(text string) error {
	word, numbers, counted := strings.Cut(text, ":")
	size, span, timed := strings.Cut(numbers, ":")
	out := defaultDrain
	ok := word == "drain"
	if counted {
		n, err := parseMebibytes(size)
		ok, out.Bytes = ok && err == nil, n
	}
	if timed {
		s, err := strconv.ParseUint(span, 10, 16)
		ok, out.Time = ok && err == nil && s > 0, time.Duration(s)*time.Second
	}
	switch {
	case text == "cancel":
		*d = abort{}
	case ok:
		*d = out
	default:
		return errors.New("use cancel, drain, drain:MiB or drain:MiB:seconds, in whole numbers")
	}
	return nil
}

// size is a number of MiB as a flag. It is a pflag.Value.
type size int64

func (s *size) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*s)>>20, 10)
}

// Type names the value in a command's help.
func (*size) Type() string { return "MiB" }

// Set reads a whole number of MiB.
func (s *size) Set(text string) error {
	n, err := parseMebibytes(text)
	if err == nil {
		*s = size(n)
	}
	return err
}

func parseMebibytes(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 0 {
		return 0, errors.New("use a whole number of MiB, at least 1")
	}
	return int64(n) << 20, nil
}
