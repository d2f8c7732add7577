// Package spelling finds the name that a misspelt one probably means, for error
// messages of all commands and file formats.
package spelling

import (
	"cmp"
	"slices"
	"strings"
)

// Rank returns the candidates by the edits that lead to them from name, ignoring
// case, the nearest first; equals in the order given.
func Rank(name string, candidates []string) []string {
	distance := map[string]int{}
	for _, c := range candidates {
		distance[c] = countEdits(strings.ToUpper(name), strings.ToUpper(c))
	}
	sorted := slices.Clone(candidates)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(distance[a], distance[b]) })
	return sorted
}

// Nearest returns the candidate that name probably means, "" when it is far from
// all: one edit in three letters, three edits at most.
func Nearest(name string, candidates []string) string {
	best, least := "", min(max(1, len(name)/3), 3)+1
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if max(len(name)-len(c), len(c)-len(name)) >= least {
			continue // each byte more or less is an edit
		}
		if d := countEdits(strings.ToUpper(name), strings.ToUpper(c)); d < least {
			best, least = c, d
		}
	}
	return best
}

// Advice ends an error about an unknown name: with the candidate that was probably
// meant, or with all of them.
func Advice(name string, candidates []string) string {
	if meant := Nearest(name, candidates); meant != "" {
		return "did you mean " + meant + "?"
	}
	if len(candidates) == 0 {
		return "there is none"
	}
	return "there are " + strings.Join(candidates, ", ")
}

// Hint ends an error that has listed the candidates: with the one that was probably
// meant, or with nothing.
func Hint(name string, candidates []string) string {
	if meant := Nearest(name, candidates); meant != "" {
		return "; did you mean " + meant + "?"
	}
	return ""
}

// countEdits counts what turns a into b: letters inserted, deleted, replaced, or
// swapped with their neighbour (optimal string alignment).
func countEdits(a, b string) int {
	var before []int // the row before the last
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
