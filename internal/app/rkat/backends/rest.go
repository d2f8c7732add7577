package backends

import (
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/server/rest"
)

// REST returns the server of the API of rkat serve.
func REST(host server.Host, backend server.Backend, o server.APIOptions) server.API {
	return rest.New(host, backend, o)
}
