package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// reader turns the value of a file, a variable or a flag into the value of a
// setting. Variables and flags are always strings. A reader returns no
// map[string]any and no []any: viper would turn their keys into lower case.
type reader func(v any) (any, error)

func readText(v any) (any, error) {
	if s, ok := v.(string); ok {
		return s, nil
	}
	return nil, fmt.Errorf("%v is not a text", v)
}

func oneOf(names ...string) reader {
	return func(v any) (any, error) {
		if s, ok := v.(string); ok && slices.Contains(names, s) {
			return s, nil
		}
		return nil, fmt.Errorf("%v is none of %s", v, strings.Join(names, ", "))
	}
}

func parseNumber(v any) (float64, error) {
	switch v := v.(type) {
	case int64:
		return float64(v), nil
	case int:
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

// readTokens is readCount for larger numbers.
func readTokens(v any) (any, error) {
	n, err := parseNumber(v)
	if err != nil || n < 0 || n != math.Trunc(n) || n > 1<<53 {
		return nil, fmt.Errorf("%v is not a whole number of tokens", v)
	}
	return uint64(n), nil
}

func between(least, most float64) reader {
	return func(v any) (any, error) {
		n, err := parseNumber(v)
		if err != nil || !(n >= least && n <= most) {
			return nil, fmt.Errorf("%v is not a number from %v to %v", v, least, most)
		}
		return n, nil
	}
}

func readDuration(v any) (any, error) {
	s, ok := v.(string)
	d, err := time.ParseDuration(s)
	if !ok || err != nil || d < 0 {
		return nil, fmt.Errorf("%v is not a duration; write it such as 30s, 5m or 1h30m", v)
	}
	return d, nil
}

func readDurations(v any) (any, error) {
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
