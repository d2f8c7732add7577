package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/meerkat-go/conformance/meerkat/config/setting"
)

// reader turns the value of a file, a variable or a flag into the value of a
// setting. Variables and flags are always strings. A reader returns no
// map[string]any and no []any: viper would turn their keys into lower case.
type reader func(v any) (any, error)

// readAccount reads the name of an account. It has no "/", which the accounts have that
// nobody named.
func readAccount(v any) (any, error) {
	if s, ok := v.(string); ok && len(s) <= 100 && !strings.ContainsFunc(
		s, func(r rune) bool { return r == '/' || !unicode.IsPrint(r) },
	) {
		return s, nil
	}
	return nil, errors.New("an account is a name of up to 100 characters without /")
}

// listOf reads a list of names.
func listOf(names ...string) reader {
	return func(v any) (any, error) {
		list, err := readList(v)
		if err != nil {
			return nil, err
		}
		for _, name := range list.([]string) { //nolint:forcetypeassert // readList returns nothing else
			if err := setting.CheckChoice(name, names); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
}

func parseNumber(v any) (float64, error) {
	switch v := v.(type) {
	case int64:
		return float64(v), nil
	case int:
		return float64(v), nil
	case uint64:
		return float64(v), nil
	case float64:
		return v, nil
	case string:
		return strconv.ParseFloat(strings.TrimSpace(v), 64)
	}
	return 0, errors.New("no number")
}

// readCount reads a whole number that is not negative.
func readCount(v any) (any, error) {
	n, err := parseNumber(v)
	if err != nil || n < 0 || n != math.Trunc(n) || n > math.MaxInt32 {
		return nil, fmt.Errorf("%v is not a whole number from 0 to %d", v, math.MaxInt32)
	}
	return int(n), nil
}

// countBetween reads a whole number from least to most.
func countBetween(least, most int) reader {
	return func(v any) (any, error) {
		n, err := parseNumber(v)
		if err != nil || n != math.Trunc(n) || n < float64(least) || n > float64(most) {
			return nil, fmt.Errorf("%v is not a whole number from %d to %d", v, least, most)
		}
		return int(n), nil
	}
}

// byteUnits are the units of sizes; KB and KiB mean the same.
var byteUnits = []struct {
	suffix string
	bytes  float64
}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"kb", 1 << 10}, {"mb", 1 << 20}, {"gb", 1 << 30}, {"b", 1}}

// readBytes reads a size: a number of bytes, or one with KB, MB or GB.
func readBytes(v any) (any, error) { return readSize(v, math.MaxInt32, "2047 MB") }

// readLargeBytes is readBytes for what a disk holds.
func readLargeBytes(v any) (any, error) { return readSize(v, 1<<50, "1048576 GB") }

// readSize reads a size of at most so many bytes, which mostText names.
func readSize(v any, most float64, mostText string) (any, error) {
	size := 1.0
	if s, ok := v.(string); ok {
		text := strings.ToLower(strings.TrimSpace(s))
		for _, unit := range byteUnits {
			if number, found := strings.CutSuffix(text, unit.suffix); found {
				text, size = strings.TrimSpace(number), unit.bytes
				break
			}
		}
		if n, err := parseNumber(text); err == nil {
			return checkSize(v, n*size, most, mostText)
		}
	}
	n, err := parseNumber(v)
	if err != nil {
		n = -1
	}
	return checkSize(v, n, most, mostText)
}

func checkSize(v any, n, most float64, mostText string) (any, error) {
	if !(n >= 1) || n != math.Trunc(n) || n > most {
		return nil, fmt.Errorf("%v is not a size from 1 byte to %s; write it such as 500KB or 64MB", v, mostText)
	}
	return int(n), nil
}

// readWait reads a duration that is not zero.
func readWait(v any) (any, error) {
	d, err := readDuration(v)
	if err == nil && d == time.Duration(0) {
		err = errors.New("0 would end every reply; write a time such as 30s")
	}
	return d, err
}

// readInterval reads a duration of a second or more, for what is done again and again.
func readInterval(v any) (any, error) {
	d, err := readDuration(v)
	if err == nil && d.(time.Duration) < time.Second {
		err = fmt.Errorf("%v is less than a second; write a time such as 10m", v)
	}
	return d, err
}

// readTokens is readCount for larger numbers.
func readTokens(v any) (any, error) {
	n, err := parseNumber(v)
	if err != nil || n < 0 || n != math.Trunc(n) || n > 1<<53 {
		return nil, fmt.Errorf("%v is not a whole number of tokens", v)
	}
	return uint64(n), nil
}

func numberBetween(least, most float64) reader {
	return func(v any) (any, error) {
		n, err := parseNumber(v)
		if err != nil || !(n >= least && n <= most) {
			return nil, fmt.Errorf("%v is not a number from %v to %v", v, least, most)
		}
		return n, nil
	}
}

func readDuration(v any) (any, error) {
	if d, ok := v.(time.Duration); ok && d >= 0 {
		return d, nil
	}
	s, ok := v.(string)
	d, err := time.ParseDuration(s)
	if !ok || err != nil || d < 0 {
		return nil, fmt.Errorf("%v is not a duration; write it such as 30s, 5m or 1h30m", v)
	}
	return d, nil
}

func readDurations(v any) (any, error) {
	if durations, ok := v.(map[string]time.Duration); ok {
		return durations, nil
	}
	table, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%v is not a table of durations", v)
	}
	out := make(map[string]time.Duration, len(table))
	for name, value := range table {
		d, err := readDuration(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = d.(time.Duration)
	}
	return out, nil
}

// readList reads a list of texts; in a variable or flag, commas separate them.
func readList(v any) (any, error) {
	switch v := v.(type) {
	case []string:
		return v, nil
	case string:
		return strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' }), nil
	case []any:
		var out []string
		for _, item := range v {
			s, ok := item.(string)
			if !ok {
				return nil, fmt.Errorf("%v in the list is not a text", item)
			}
			out = append(out, s)
		}
		return out, nil
	}
	return nil, fmt.Errorf("%v is not a list of texts", v)
}
