package cassette

import (
	"fmt"
	"net/http"
	"time"

	"gopkg.in/yaml.v3"
)

// The shapes of go-vcr v2's file, for what the fast decoder does not read: files
// of stock go-vcr, and items of ours that use a rare YAML form.
type (
	vcrFile struct {
		Version      *int       `yaml:"version"`
		Meta         yaml.Node  `yaml:"meta"`
		Interactions []*vcrItem `yaml:"interactions"`
	}
	vcrItem struct {
		Request  *vcrRequest  `yaml:"request"`
		Response *vcrResponse `yaml:"response"`
	}
	vcrRequest struct {
		Body    string      `yaml:"body"`
		Headers http.Header `yaml:"headers"`
		URL     string      `yaml:"url"`
		Method  string      `yaml:"method"`
	}
	vcrResponse struct {
		Body     string        `yaml:"body"`
		Headers  http.Header   `yaml:"headers"`
		Code     int           `yaml:"code"`
		Duration time.Duration `yaml:"duration"`
	}
)

// vcrVersion is the only version go-vcr v1 and v2 write; v3 and v4 write 2.
const vcrVersion = 1

// parseForeign reads a file that go-vcr v2 wrote.
func parseForeign(name string, data []byte) ([]Interaction, error) {
	var f vcrFile
	if err := yaml.Unmarshal(data, &f); err != nil {
		return nil, notCassette(name, firstLine(err))
	}
	_, _, closed := readClose(data)
	switch {
	case !f.Meta.IsZero():
		return nil, damaged(name, "its formatting")
	case closed:
		return nil, damaged(name, "the head")
	case f.Version == nil:
		return nil, notCassette(name, "no version")
	case *f.Version != vcrVersion:
		return nil, fail(name, ErrVersion, "go-vcr format %d: this build reads %d, the one of go-vcr v2", *f.Version, vcrVersion)
	}
	out := make([]Interaction, len(f.Interactions))
	for i, item := range f.Interactions {
		var err error
		if out[i], err = item.interaction(); err != nil {
			return nil, notCassette(name, fmt.Sprintf("interaction %d: %v", i, err))
		}
	}
	return out, nil
}

func notCassette(name, why string) error {
	return fail(name, ErrFormat, "is not a cassette (%s); give a file that recorder or go-vcr v2 wrote", why)
}

// interaction converts what YAML held. Reserved headers survive a stock Save,
// so the timeline does too.
func (v *vcrItem) interaction() (in Interaction, err error) {
	if v == nil || v.Request == nil || v.Response == nil {
		return in, fmt.Errorf("needs a request and a response")
	}
	in = Interaction{
		Request: Request{
			Method: v.Request.Method, URL: v.Request.URL,
			Header: orEmpty(v.Request.Headers), Body: []byte(v.Request.Body),
		},
		Response: Response{
			Status: v.Response.Code, Header: orEmpty(v.Response.Headers), Body: []byte(v.Response.Body),
		},
		Duration: v.Response.Duration,
	}
	return in, takeReserved(&in)
}

func orEmpty(h http.Header) http.Header {
	if h == nil {
		return http.Header{}
	}
	return h
}

// decode reads one item of a sealed file.
func decode(item []byte) (Interaction, error) {
	if in, ok := decodeItem(item); ok {
		return in, takeReserved(&in)
	}
	var items []*vcrItem
	if err := yaml.Unmarshal(item, &items); err != nil {
		return Interaction{}, err
	}
	if len(items) != 1 {
		return Interaction{}, fmt.Errorf("%d items where one should be", len(items))
	}
	return items[0].interaction()
}
