package wire

// Encode renders a tree compactly. Scalars keep their bytes, containers are
// rendered from their members, so that a changed tree can be sent.
func Encode(n *Node) []byte { return appendNode(nil, n) }

func appendNode(b []byte, n *Node) []byte {
	if n.Kind != '{' && n.Kind != '[' {
		return append(b, n.Raw...)
	}
	b = append(b, byte(n.Kind))
	for i, v := range n.Items {
		if i > 0 {
			b = append(b, ',')
		}
		if n.Kind == '{' {
			b = append(append(b, Quote(n.Names[i])...), ':')
		}
		b = appendNode(b, v)
	}
	return append(b, byte(n.Kind)+2) // '}' and ']' are two after their partners
}
