package specs

import "strings"

// Nearest returns the candidate that takes the fewest edits to reach from
// name, ignoring case; the first of equals. It is "" without candidates.
func Nearest(name string, candidates []string) string {
	best, distance := "", -1
	for _, c := range candidates {
		if d := edits(strings.ToUpper(name), strings.ToUpper(c)); distance < 0 || d < distance {
			best, distance = c, d
		}
	}
	return best
}

// edits counts what turns a into b: letters added, taken away, replaced, or
// swapped with their neighbour, the slip of fast fingers.
func edits(a, b string) int {
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
