package recorder

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// Age is a time span as a flag, in whole days or weeks or as Go writes durations; 0 is none. It
// is a pflag.Value.
type Age time.Duration

const day = 24 * time.Hour

// String is the span as Set takes it.
func (g *Age) String() string {
	switch d := time.Duration(*g); {
	case d == 0:
		return ""
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	default:
		return d.String()
	}
}

// Type names the value in a command's help.
func (*Age) Type() string { return "age" }

// Set reads 30d, 2w or 36h.
func (g *Age) Set(text string) error {
	unit, number := time.Duration(0), text
	switch {
	case len(text) > 1 && text[len(text)-1] == 'd':
		unit, number = day, text[:len(text)-1]
	case len(text) > 1 && text[len(text)-1] == 'w':
		unit, number = 7*day, text[:len(text)-1]
	}
	if n, err := strconv.ParseUint(number, 10, 16); unit > 0 && err == nil && n > 0 {
		*g = Age(time.Duration(n) * unit)
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return errors.New("use a span above 0, such as 30d, 2w or 36h")
	}
	*g = Age(d)
	return nil
}

// StaleReason returns why a cassette is, or may be, older than limit allows; "" when it is not. One
// that does not say when it was recorded may be of any age.
func StaleReason(meta cassette.Meta, limit Age, now time.Time) string {
	if limit == 0 {
		return ""
	}
	if meta.Nominal() {
		return "has nominal times, so --max-age cannot pass it; leave the flag out, or record it afresh with: recorder refresh"
	}
	created, err := time.Parse(time.RFC3339, meta.Created)
	if err != nil {
		return "does not say when it was recorded, so --max-age cannot pass it; record it afresh with: recorder refresh"
	}
	if old := now.Sub(created); old > time.Duration(limit) {
		return fmt.Sprintf("is stale: recorded %s ago and --max-age is %s; record it afresh with: recorder refresh",
			roughDuration(old), limit.String())
	}
	return ""
}

func roughDuration(d time.Duration) string {
	if d >= 2*day {
		return fmt.Sprintf("%d days", d/day)
	}
	return d.Round(time.Second).String()
}
