package specs

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest returns up to n candidates that take the fewest edits to reach from
// name, ignoring case, the nearest first; equals in the order given.
func Nearest(name string, n int, candidates []string) []string {
	distance := map[string]int{}
	for _, c := range candidates {
		distance[c] = editDistance(strings.ToUpper(name), strings.ToUpper(c))
	}
	sorted := slices.Clone(candidates)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(distance[a], distance[b]) })
	return sorted[:min(n, len(sorted))]
}

// editDistance counts what turns a into b: letters added, taken away, replaced, or
// swapped with their neighbour, the slip of fast fingers.
func editDistance(a, b string) int {
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
