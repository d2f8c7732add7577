package cassette

import (
	"bytes"
	"errors"
	"io"

	"gopkg.in/yaml.v3"
)

// largeForeign is the size, in bytes, from which a file without seals is kept as text and
// decoded item by item when asked: decoded as a whole it needs four times its size.
const largeForeign = 16 << 20

// splitForeign finds the items of a file that go-vcr wrote, and decodes each once to check it.
// It reports false for a file in another layout, which has to be parsed as a whole.
func (c *Cassette) splitForeign(data []byte) bool {
	if alterationReason(data) != "" {
		return false
	}
	head, items := cutItems(data)
	if !isPlainHead(head) {
		return false
	}
	for _, item := range items {
		if _, err := decodeForeignItem(item); err != nil {
			return false
		}
	}
	c.items = items
	return len(items) > 0
}

// cutItems cuts a file at the lines that begin an item as the first one does: no line of
// a body is indented as little.
func cutItems(data []byte) (head []byte, items [][]byte) {
	const dash = "- request:\n"
	at := bytes.Index(data, []byte(dash))
	if at < 0 {
		return data, nil
	}
	start := bytes.LastIndexByte(data[:at], '\n') + 1
	head = data[:start]
	mark := "\n" + string(data[start:at+len(dash)])
	for rest := data[start:]; ; {
		n := bytes.Index(rest, []byte(mark)) + 1
		if n == 0 {
			return head, append(items, rest)
		}
		items, rest = append(items, rest[:n:n]), rest[n:]
	}
}

// isPlainHead reports whether what stands before the items is what go-vcr v2 writes there.
func isPlainHead(head []byte) bool {
	var file struct {
		Version      int        `yaml:"version"`
		Interactions *yaml.Node `yaml:"interactions"`
	}
	d := yaml.NewDecoder(bytes.NewReader(head))
	d.KnownFields(true)
	return d.Decode(&file) == nil && file.Version == vcrVersion && bytes.HasSuffix(head, []byte("interactions:\n"))
}

// decodeForeignItem decodes one item of a file that go-vcr wrote.
func decodeForeignItem(item []byte) (Interaction, error) {
	var items []*vcrItem
	d := yaml.NewDecoder(bytes.NewReader(item))
	d.KnownFields(true)
	if err := d.Decode(&items); err != nil {
		return Interaction{}, err
	}
	if err := d.Decode(new(yaml.Node)); len(items) != 1 || !errors.Is(err, io.EOF) {
		return Interaction{}, errors.New("more than one item")
	}
	return items[0].toInteraction()
}
