package event

import (
	"regexp"
	"slices"
	"strings"
)

// Part is what an event says about one thing. Most events have one part; a whole
// message has one for each of its blocks and one for itself, and so has a Gemini
// chunk.
type Part struct {
	// Name is the event's, or "block" or "part" for a piece of a whole message.
	Name string
	// Type says what the part is about in the provider's words: thinking,
	// text_delta, function_call; "" when it does not say.
	Type string
	// Place identifies the block among its siblings, "0" or "1.0"; "" when the
	// part is about the whole reply.
	Place string
	// Nodes are the values with paths relative to the part, without the place.
	Nodes []Node
}

// Token returns the name and the type. Parts with the same token have the same
// shape.
func (p Part) Token() string {
	if p.Type == "" {
		return p.Name
	}
	return p.Name + "/" + p.Type
}

// block matches an element of an array that holds what a whole reply says.
var block = regexp.MustCompile(`^(?:(?:content|output)\[(\d+)\]|candidates\[(\d+)\]\.content\.parts\[\d+\])`)

// chunkName is the name of an event whose provider gives it none.
const chunkName = "chunk"

// Parts splits an event: first its blocks, then the rest.
func (e Event) Parts() []Part {
	own := Part{Name: e.Name}
	if own.Name == "" {
		own.Name = chunkName
	}
	var blocks []Part
	root := ""
	for _, node := range Nodes(e.Data) {
		at := block.FindStringSubmatch(node.Path)
		if at == nil {
			own.Nodes = append(own.Nodes, node)
			continue
		}
		if at[0] != root {
			root = at[0]
			blocks = append(blocks, newBlock(at))
		}
		node.Path = strings.TrimPrefix(strings.TrimPrefix(node.Path, root), ".")
		last := &blocks[len(blocks)-1]
		last.Nodes = append(last.Nodes, node)
	}
	for i := range blocks {
		blocks[i].Type = blocks[i].blockType()
	}
	own.takeTypeAndPlace()
	return append(blocks, own)
}

// newBlock returns the part that a match of block begins. Gemini's parts have no
// index that holds beyond their chunk; only the index of their candidate does.
func newBlock(at []string) Part {
	switch {
	case at[1] != "":
		return Part{Name: "block", Place: at[1]}
	case at[2] != "0":
		return Part{Name: "part", Place: at[2]}
	}
	return Part{Name: "part"}
}

// blockType returns the type of a block. A Gemini part shows it by the name of
// its member.
func (p Part) blockType() string {
	kind := ""
	for _, n := range p.Nodes {
		switch {
		case n.Path == "type":
			return n.Text()
		case n.Path == "thought" && n.Kind == 't':
			return "thought"
		case kind == "" && n.Path != "" && !strings.Contains(n.Path, ".") && n.Key() != "thoughtSignature":
			kind = n.Key()
		}
	}
	return kind
}

// described are the members whose type says what an event is about.
var described = []string{"content_block.type", "delta.type", "item.type", "part.type", "annotation.type", "error.type"}

// takeTypeAndPlace moves type and place from the nodes to the part.
func (p *Part) takeTypeAndPlace() {
	var types []string
	place := make([]string, len(places))
	rest := p.Nodes[:0]
	for _, n := range p.Nodes {
		switch i := slices.Index(places, n.Path); {
		case i >= 0 && n.Kind == '0':
			place[i] = string(n.Raw)
			continue
		case slices.Contains(described, n.Path) && n.Kind == '"':
			types = append(types, n.Text())
		}
		rest = append(rest, n)
	}
	place = slices.DeleteFunc(place, func(s string) bool { return s == "" })
	p.Nodes, p.Type, p.Place = rest, strings.Join(types, "+"), strings.Join(place, ".")
}
