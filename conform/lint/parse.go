package lint

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/meerkat-go/conformance/wires/tree"
)

// parse reads a document, and says where and why it is not one.
func parse(data []byte) (*tree.Node, error) {
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, errors.New("is empty")
	case bytes.HasPrefix(data, []byte("\xEF\xBB\xBF")):
		return nil, errors.New("begins with a byte order mark, which providers refuse; save it as UTF-8 without one")
	case bytes.HasPrefix(data, []byte("\xFF\xFE")) || bytes.HasPrefix(data, []byte("\xFE\xFF")):
		return nil, errors.New("is UTF-16; save it as UTF-8")
	}
	doc, err := tree.Parse(data)
	var fault *tree.SyntaxError
	if errors.As(err, &fault) {
		return nil, fmt.Errorf("is not JSON: line %d, %w", 1+bytes.Count(data[:fault.Offset], []byte("\n")), fault)
	}
	return doc, err
}
