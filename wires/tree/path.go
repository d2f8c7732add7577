package tree

import "strconv"

// Path is where a value stands: a member or an element of the value at its parent.
// The nil Path is the root.
type Path struct {
	parent *Path
	name   string // "" for an element
	index  int
}

// Name returns the name of the member, "" for an element and for the root.
func (p *Path) Name() string {
	if p == nil {
		return ""
	}
	return p.name
}

// String returns the path as OpenAI and Google write it: "input[2].content".
func (p *Path) String() string {
	switch {
	case p == nil:
		return ""
	case p.name == "":
		return p.parent.String() + "[" + strconv.Itoa(p.index) + "]"
	case p.parent == nil:
		return p.name
	}
	return p.parent.String() + "." + p.name
}

// Dotted returns the path as Anthropic writes it: "messages.2.content".
func (p *Path) Dotted() string {
	if p == nil {
		return ""
	}
	name := p.name
	if name == "" {
		name = strconv.Itoa(p.index)
	}
	if p.parent == nil {
		return name
	}
	return p.parent.Dotted() + "." + name
}

// Paths makes the paths of one tree, many in one piece of memory. The zero Paths is
// ready. It is for one goroutine.
type Paths struct{ room []Path }

// Member returns the path of a member of the value at parent.
func (s *Paths) Member(parent *Path, name string) *Path {
	return s.putPath(Path{parent: parent, name: name})
}

// Element returns the path of an element of the array at parent.
func (s *Paths) Element(parent *Path, index int) *Path {
	return s.putPath(Path{parent: parent, index: index})
}

func (s *Paths) putPath(p Path) *Path {
	if len(s.room) == 0 {
		s.room = make([]Path, minRoom)
	}
	kept := &s.room[0]
	s.room = s.room[1:]
	*kept = p
	return kept
}
