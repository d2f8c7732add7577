package openai

import (
	"errors"

	"github.com/meerkat-go/conformance/wires/tree"
)

// maxDepth is how deep a request may be nested; a deeper one is refused.
const maxDepth = 200

var errObject = errors.New("not one object")

// parseObject reads a request body: one JSON object in UTF-8 and nothing after it.
func parseObject(body []byte) (*tree.Node, error) {
	root, err := tree.ParseStrict(body, maxDepth)
	switch {
	case errors.Is(err, tree.ErrTrailing):
		return nil, errObject
	case err != nil:
		return nil, err
	case !root.Is(tree.Object):
		return nil, errObject
	}
	return root, nil
}
