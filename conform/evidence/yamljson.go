package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"gopkg.in/yaml.v3"
)

var errAliases = errors.New("grows beyond 256 MiB through YAML aliases")

// appendJSON writes a YAML value as JSON in the order of the file: the body was
// JSON before its recorder parsed it.
func appendJSON(dst []byte, n *yaml.Node) ([]byte, error) {
	if len(dst) > maxBody {
		return nil, errAliases
	}
	switch n.Kind {
	case yaml.AliasNode:
		return appendJSON(dst, n.Alias)
	case yaml.MappingNode:
		return appendList(dst, n, '{', '}')
	case yaml.SequenceNode:
		return appendList(dst, n, '[', ']')
	case yaml.ScalarNode:
		return appendScalar(dst, n)
	default:
		return nil, fmt.Errorf("line %d is no JSON value", n.Line)
	}
}

func appendList(dst []byte, n *yaml.Node, open, end byte) ([]byte, error) {
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
			dst, err = appendJSON(dst, c)
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
