package simulator

// dict is a decoded JSON object that a test may change. Its accessors return the
// zero value for what is absent or of another type.
type dict map[string]any

func (d dict) dict(name string) dict {
	m, _ := d[name].(map[string]any)
	return m
}

func (d dict) str(name string) string {
	s, _ := d[name].(string)
	return s
}

// list returns the objects of an array.
func (d dict) list(name string) []dict {
	var all []dict
	items, _ := d[name].([]any)
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}
