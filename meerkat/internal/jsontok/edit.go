package jsontok

// Member is one name and its value, both ready for the wire except that Name
// is not yet quoted.
type Member struct {
	Name  string
	Value []byte
}

// With returns a copy of the JSON object src in which the given members have
// new values. Members that src lacks are appended; everything else, including
// order, spelling and unknown members, is copied byte for byte. If src is not a
// JSON object, With returns nil.
func With(src []byte, set ...Member) []byte {
	size := len(src)
	for _, m := range set {
		size += len(m.Name) + len(m.Value) + len(`"":,`)
	}
	out := append(make([]byte, 0, size), '{')
	seen := make([]bool, len(set))
	err := Fields(src, func(name, value []byte) error {
		for i := range set {
			if set[i].Name == string(name) {
				value, seen[i] = set[i].Value, true
			}
		}
		out = appendMember(out, name, value)
		return nil
	})
	if err != nil {
		return nil
	}
	for i, m := range set {
		if !seen[i] {
			out = appendMember(out, m.Name, m.Value)
		}
	}
	return append(out, '}')
}

func appendMember[T string | []byte](dst []byte, name T, value []byte) []byte {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	dst = append(AppendQuoted(dst, name), ':')
	return append(dst, value...)
}
