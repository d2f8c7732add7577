package tree

// Encode renders a tree compactly. Scalars keep their bytes, containers are
// rendered from their members, so that a changed tree can be sent.
func Encode(n *Node) []byte { return appendNode(nil, n) }

func appendNode(b []byte, n *Node) []byte {
	brackets := "[]"
	switch {
	case n.kind == Object:
		brackets = "{}"
	case n.kind != Array:
		return append(b, n.raw...)
	}
	b = append(b, brackets[0])
	for i, v := range n.items {
		if i > 0 {
			b = append(b, ',')
		}
		if n.kind == Object {
			b = append(append(b, Quote(n.names[i])...), ':')
		}
		b = appendNode(b, v)
	}
	return append(b, brackets[1])
}
