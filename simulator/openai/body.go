package openai

import (
	"errors"

	"github.com/meerkat-go/conformance/simulator/jsontree"
)

// maxDepth is how deep a request may be nested; a deeper one is refused.
const maxDepth = 200

var errObject = errors.New("not one object")

// parseObject reads a request body: one JSON object in UTF-8 and nothing after it.
func parseObject(body []byte) (*jsontree.Node, error) {
	root, err := jsontree.ParseStrict(body, maxDepth)
	switch {
	case errors.Is(err, jsontree.ErrTrailing):
		return nil, errObject
	case err != nil:
		return nil, err
	case !root.Is(jsontree.Object):
		return nil, errObject
	}
	return root, nil
}
