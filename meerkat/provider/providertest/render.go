package providertest

import (
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
)

// RenderBody returns the body that codec renders for req.
func RenderBody(codec provider.Codec, req *provider.Request, m catalog.Entry) ([]byte, error) {
	rendered, err := codec.Render(req, m)
	if err != nil {
		return nil, err
	}
	return rendered.Body, nil
}
