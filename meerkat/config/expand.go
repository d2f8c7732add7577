package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// variable is ${NAME}; $${NAME} stands for the text itself.
var variable = regexp.MustCompile(`\$?\$\{[^}]*\}`)

var name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expandVariables replaces ${NAME} in every text of v by the variable; $${NAME} stands for
// the text itself. v is what JSON or TOML decodes to. A variable that is not set
// is an error.
func expandVariables(v any, env map[string]string) (any, error) {
	switch v := v.(type) {
	case string:
		return expandText(v, env)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var err error
			if out[i], err = expandVariables(v[i], env); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			var err error
			if out[name], err = expandVariables(value, env); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

func expandText(s string, env map[string]string) (any, error) {
	var err error
	out := variable.ReplaceAllStringFunc(s, func(match string) string {
		if strings.HasPrefix(match, "$$") {
			return match[1:]
		}
		wanted := match[2 : len(match)-1]
		value, ok := env[wanted]
		switch {
		case !name.MatchString(wanted):
			// What stands there may be a secret that somebody put into the braces.
			err = errors.New("what stands in ${…} is not the name of a variable; write $${…} for the text itself")
		case !ok:
			err = fmt.Errorf("the variable %s is not set", wanted)
		}
		return value
	})
	return out, err
}

// hasVariable reports whether a text in v refers to a variable.
func hasVariable(v any) bool {
	switch v := v.(type) {
	case string:
		return slices.ContainsFunc(
			variable.FindAllString(v, -1), func(m string) bool { return !strings.HasPrefix(m, "$$") },
		)
	case []any:
		return slices.ContainsFunc(v, hasVariable)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), hasVariable)
	}
	return false
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
