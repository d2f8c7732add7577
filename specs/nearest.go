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

// edits is the Levenshtein distance of two byte strings.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
