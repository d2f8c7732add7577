package event

// maxTable bounds the work of alignByKey: lists whose middles have more pairs
// than this count as entirely different.
const maxTable = 4 << 20

// alignByKey pairs the elements of two lists with the same key, in order and as
// many as possible (the longest common subsequence), and lists the others
// between them: {i, j} for a pair, {i, -1} and {-1, j} for single elements.
func alignByKey[T any](a, b []T, key func(T) string) (pairs [][2]int) {
	ka, kb := elementKeys(a, key), elementKeys(b, key)
	head := 0
	for head < len(ka) && head < len(kb) && ka[head] == kb[head] {
		pairs = append(pairs, [2]int{head, head})
		head++
	}
	tail := 0
	for tail < len(ka)-head && tail < len(kb)-head && ka[len(ka)-1-tail] == kb[len(kb)-1-tail] {
		tail++
	}
	for _, m := range alignMiddle(ka[head:len(ka)-tail], kb[head:len(kb)-tail]) {
		for side := range m {
			if m[side] >= 0 {
				m[side] += head
			}
		}
		pairs = append(pairs, m)
	}
	for i := tail; i > 0; i-- {
		pairs = append(pairs, [2]int{len(ka) - i, len(kb) - i})
	}
	return pairs
}

func elementKeys[T any](list []T, key func(T) string) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = key(x)
	}
	return out
}

func alignMiddle(a, b []string) (pairs [][2]int) {
	i, j := 0, 0
	if len(a)*len(b) <= maxTable {
		table := commonLengths(a, b)
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				pairs = append(pairs, [2]int{i, j})
				i, j = i+1, j+1
			case table[i+1][j] >= table[i][j+1]:
				pairs = append(pairs, [2]int{i, -1})
				i++
			default:
				pairs = append(pairs, [2]int{-1, j})
				j++
			}
		}
	}
	for ; i < len(a); i++ {
		pairs = append(pairs, [2]int{i, -1})
	}
	for ; j < len(b); j++ {
		pairs = append(pairs, [2]int{-1, j})
	}
	return pairs
}

// commonLengths returns the table of the lengths of the common subsequences of
// a[i:] and b[j:].
func commonLengths(a, b []string) [][]int32 {
	table := make([][]int32, len(a)+1)
	for i := range table {
		table[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}

// Match pairs the equal keys of two recordings in order, and lists the others
// between them: {i, j} for a pair, {i, -1} and {-1, j} for single keys.
func Match(a, b []string) [][2]int {
	return alignByKey(a, b, func(s string) string { return s })
}
