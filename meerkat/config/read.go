package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
)

// reader turns a value of a file, a variable or a flag into that of a setting.
// Variables and flags are always strings. What it returns is no map[string]any
// and no []any: viper would write their keys in small letters.
type reader func(v any) (any, error)

func text(v any) (any, error) {
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

func number(v any) (float64, error) {
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

// count reads a whole number that is not negative.
func count(v any) (any, error) {
	n, err := number(v)
	if err != nil || n < 0 || n != math.Trunc(n) || n > math.MaxInt32 {
		return nil, fmt.Errorf("%v is not a whole number from 0 to %d", v, math.MaxInt32)
	}
	return int(n), nil
}

// tokens is count for larger numbers.
func tokens(v any) (any, error) {
	n, err := number(v)
	if err != nil || n < 0 || n != math.Trunc(n) || n > 1<<53 {
		return nil, fmt.Errorf("%v is not a whole number of tokens", v)
	}
	return uint64(n), nil
}

func between(least, most float64) reader {
	return func(v any) (any, error) {
		n, err := number(v)
		if err != nil || !(n >= least && n <= most) {
			return nil, fmt.Errorf("%v is not a number from %v to %v", v, least, most)
		}
		return n, nil
	}
}

func duration(v any) (any, error) {
	s, ok := v.(string)
	d, err := time.ParseDuration(s)
	if !ok || err != nil || d < 0 {
		return nil, fmt.Errorf("%v is not a duration; write it such as 30s, 5m or 1h30m", v)
	}
	return d, nil
}

func durations(v any) (any, error) {
	table, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%v is not a table of durations", v)
	}
	out := make(map[string]time.Duration, len(table))
	for name, value := range table {
		d, err := duration(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = d.(time.Duration)
	}
	return out, nil
}

// texts reads a list; in a variable or flag it is separated by commas.
func texts(v any) (any, error) {
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

// servers reads the tables of MCP servers; each has a name of its own and
// either a command or a URL.
func servers(v any) (any, error) {
	if list, ok := v.([]MCPServer); ok {
		return list, nil
	}
	var list []MCPServer
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: &list, ErrorUnused: true, DecodeHook: mapstructure.StringToTimeDurationHookFunc(),
	})
	if err != nil {
		return nil, err
	}
	if err := decoder.Decode(v); err != nil {
		return nil, errors.New(strings.Join(strings.Fields(err.Error()), " "))
	}
	return list, checkServers(list)
}

func checkServers(list []MCPServer) error {
	seen := map[string]bool{}
	for i, s := range list {
		switch {
		case s.Name == "":
			return fmt.Errorf("server %d has no name", i+1)
		case seen[s.Name]:
			return fmt.Errorf("two servers are named %q", s.Name)
		case (s.Command == "") == (s.URL == ""):
			return fmt.Errorf("server %q needs a command or a url, and only one of them", s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}
