package interchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxDepth bounds nesting, because an anchor may contain itself.
const maxDepth = 10_000

var (
	errAliases = errors.New("grows beyond 256 MiB through YAML aliases")
	errDepth   = errors.New("is nested more than 10,000 deep, or an anchor holds itself")
)

// appendJSON writes a YAML value as JSON in the order of the file. The body was
// JSON before its recorder parsed it.
func appendJSON(dst []byte, n *yaml.Node, depth int) ([]byte, error) {
	switch {
	case len(dst) > maxBody:
		return nil, errAliases
	case depth > maxDepth:
		return nil, errDepth
	}
	switch n.Kind {
	case yaml.AliasNode:
		return appendJSON(dst, n.Alias, depth+1)
	case yaml.MappingNode:
		return appendList(dst, n, '{', '}', depth+1)
	case yaml.SequenceNode:
		return appendList(dst, n, '[', ']', depth+1)
	case yaml.ScalarNode:
		return appendScalar(dst, n)
	default:
		return nil, fmt.Errorf("line %d is not a JSON value", n.Line)
	}
}

func appendList(dst []byte, n *yaml.Node, open, end byte, depth int) ([]byte, error) {
	var err error
	dst = append(dst, open)
	for i, c := range n.Content {
		isKey := open == '{' && i%2 == 0
		switch {
		case open == '{' && !isKey:
			dst = append(dst, ':')
		case i > 0:
			dst = append(dst, ',')
		}
		if isKey {
			dst, err = appendString(dst, c.Value)
		} else {
			dst, err = appendJSON(dst, c, depth)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(dst, end), nil
}

func appendScalar(dst []byte, n *yaml.Node) ([]byte, error) {
	switch n.ShortTag() {
	case "!!null":
		return append(dst, "null"...), nil
	case "!!bool":
		var b bool
		err := n.Decode(&b)
		return fmt.Appendf(dst, "%t", b), err
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return append(dst, n.Value...), nil
		}
		var f float64
		if err := n.Decode(&f); err != nil {
			return nil, err
		}
		number, err := json.Marshal(f)
		return append(dst, number...), err
	}
	return appendString(dst, n.Value)
}

func appendString(dst []byte, s string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(s)
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...), err
}

// fromJSON converts JSON to YAML nodes, for files that may be written in either.
// JSON is not quite YAML, which does not know surrogate pairs. data was
// validated before, so its nesting is bounded.
func fromJSON(data []byte) (*yaml.Node, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return nextNode(dec)
}

func nextNode(dec *json.Decoder) (*yaml.Node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		if v == '{' {
			n = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		}
		for dec.More() {
			child, err := nextNode(dec)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		_, err := dec.Token()
		return n, err
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return scalarNode("!!float", v.String()), nil
		}
		return scalarNode("!!int", v.String()), nil
	case bool:
		return scalarNode("!!bool", fmt.Sprint(v)), nil
	case string:
		return scalarNode("!!str", v), nil
	}
	return scalarNode("!!null", "null"), nil
}

func scalarNode(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}
