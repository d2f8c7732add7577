package freetext

import "slices"

// boxByte begins each part of the lines of a box.
const boxByte = 0xe2

// isBoxAt reports whether a part of the lines of a box is at a place.
func isBoxAt(text []byte, at int) bool {
	return at+2 < len(text) && plainLine(text[at+1], text[at+2]) != ""
}

// withPlainBoxes returns a text in which the lines that programs draw around the cells of a table are
// written as in Markdown. Each is three bytes long, so all places stay.
func withPlainBoxes(text []byte) []byte {
	plain := slices.Clone(text)
	for i := range text {
		if text[i] == boxByte && isBoxAt(text, i) {
			copy(plain[i:], plainLine(text[i+1], text[i+2]))
		}
	}
	return plain
}

// plainLine is how Markdown writes a part of the lines of a box, given its second and third byte; ""
// for another character.
func plainLine(second, third byte) string {
	if second != 0x94 && second != 0x95 {
		return ""
	}
	switch string([]byte{boxByte, second, third}) {
	case "│", "║", "┃":
		return "  |"
	case "─", "═", "━":
		return "---"
	case "┼", "╪", "╫", "╬", "╋", "├", "┤", "╟", "╢", "╞", "╡", "╠", "╣", "┣", "┫":
		return "-+-"
	}
	return ""
}
