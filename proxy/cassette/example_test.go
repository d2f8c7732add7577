package cassette_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// writeExample writes a cassette with one interaction to path.
func writeExample(path string) error {
	w, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceSynthetic}, cassette.CreateOptions{})
	if err != nil {
		return err
	}
	if err := w.Append(cassette.Interaction{
		Request: cassette.Request{Method: "GET", URL: "https://api.openai.com/v1/models", Header: http.Header{}},
		Response: cassette.Response{Status: 200, Header: http.Header{"Content-Type": {"application/json"}},
			Body: []byte(`{"data":[]}`)},
		End: cassette.EndEOF,
	}); err != nil {
		return err
	}
	return w.Close()
}

// A cassette has its name once Close has verified every byte of it.
func ExampleCreate() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "models.yaml")
	if err := writeExample(path); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cassette.Verify(path))
	// Output: <nil>
}

// Open reads only the seals. Interactions are decoded when they are asked for.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "models.yaml")
	if err := writeExample(path); err != nil {
		fmt.Println(err)
		return
	}
	c, err := cassette.Open(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	for in, err := range c.All() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(in.Request.Method, in.Request.URL, in.Response.Status, string(in.Response.Body))
	}
	// Output: GET https://api.openai.com/v1/models 200 {"data":[]}
}
