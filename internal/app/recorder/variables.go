package recorder

import (
	"slices"
	"strings"
)

// misspelt refuses variables that are all but the one of a flag: a gate that is
// switched on by a name nobody knows is off. Others may be some other tool's.
func (a *app) misspelt(flags []string) error {
	known := []string{credentialVariable, variable("config")}
	for _, name := range flags {
		known = append(known, variable(name))
	}
	for _, kv := range a.env {
		name, value, _ := strings.Cut(kv, "=")
		if value == "" || !strings.HasPrefix(name, "RECORDER_") || slices.Contains(known, name) {
			continue
		}
		if meant := nearest(name, known); meant != "" {
			return usage("%s: unknown; %s is meant, or rename it", name, meant)
		}
	}
	return nil
}

// nearest is the name that name is a misspelling of, "" when it is far from all.
// Two letters may be wrong, one in a short name.
func nearest(name string, known []string) (best string) {
	least := 3
	if len(strings.TrimPrefix(name, "RECORDER_")) < 6 {
		least = 2
	}
	for _, k := range known {
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is how many letters have to be put in, left out, changed or swapped
// with their neighbour to make b of a (optimal string alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j-1], rows[i-1][j], rows[i][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
