package evidence

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// The two families of YAML cassettes are alike: go-vcr has request.url and
// response.code, vcrpy request.uri and response.status.code.
type (
	vcrFile struct {
		Version      string    `yaml:"version"`
		Interactions []vcrItem `yaml:"interactions"`
	}
	vcrItem struct {
		Request struct {
			vcrBodies `yaml:",inline"`
			Method    string               `yaml:"method"`
			URL       string               `yaml:"url"`
			URI       string               `yaml:"uri"`
			Headers   map[string]vcrValues `yaml:"headers"`
		} `yaml:"request"`
		Response struct {
			vcrBodies `yaml:",inline"`
			Headers   map[string]vcrValues `yaml:"headers"`
			Code      int                  `yaml:"code"`
			Status    yaml.Node            `yaml:"status"`
		} `yaml:"response"`
	}
	// vcrBodies is a body as a scalar, as a mapping with string (vcrpy), or as
	// the JSON value it stood for (parsed_body, a serialiser of pydantic-ai).
	vcrBodies struct {
		Body   yaml.Node `yaml:"body"`
		Parsed yaml.Node `yaml:"parsed_body"`
	}
	vcrValues []string
)

// UnmarshalYAML accepts a list of values and, from old recorders, one scalar.
func (v *vcrValues) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return n.Decode((*[]string)(v))
	}
	*v = []string{n.Value}
	return nil
}

func readVCR(name string, data []byte) (Recording, error) {
	var file vcrFile
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		problem := fmt.Sprintf("is unreadable YAML (%s)", oneLine(err))
		if bytes.Contains(data, []byte("interactions:")) {
			return Recording{}, broken(name, problem)
		}
		return Recording{}, notRecording(name, problem)
	}
	if !hasInteractions(&doc) {
		return Recording{}, notRecording(name, "is YAML without interactions")
	}
	if err := doc.Decode(&file); err != nil {
		return Recording{}, broken(name, fmt.Sprintf("is no cassette (%s)", oneLine(err)))
	}
	format := file.format()
	if known := format.versions(); !slices.Contains(known, file.Version) {
		return Recording{}, fmt.Errorf("%s: %s cassette of version %q; conform reads %s: convert it or record it again",
			name, format, file.Version, strings.Join(known, " and "))
	}
	if format == FormatGoVCR && file.Version == "1" {
		return readCassette(name, format, data)
	}
	var all []raw
	for i, item := range file.Interactions {
		r, err := item.raw()
		if err != nil {
			return Recording{}, fmt.Errorf("%s: interaction %d: %w; record it again", name, i, err)
		}
		all = append(all, r)
	}
	return assemble(name, format, all)
}

func hasInteractions(doc *yaml.Node) bool {
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return false
	}
	for i, n := range doc.Content[0].Content {
		if i%2 == 0 && n.Value == "interactions" {
			return true
		}
	}
	return false
}

func (f vcrFile) format() Format {
	if len(f.Interactions) > 0 && f.Interactions[0].Request.URI != "" {
		return FormatVCRPy
	}
	return FormatGoVCR
}

// versions lists what Read accepts: go-vcr v2 writes 1, v3 and v4 write 2.
func (f Format) versions() []string {
	if f == FormatVCRPy {
		return []string{"1"}
	}
	return []string{"1", "2"}
}

func (it vcrItem) raw() (raw, error) {
	request, err := it.Request.bytes()
	if err != nil {
		return raw{}, fmt.Errorf("request body: %w", err)
	}
	response, err := it.Response.bytes()
	if err != nil {
		return raw{}, fmt.Errorf("response body: %w", err)
	}
	code := it.Response.Code
	if it.Response.Status.Kind == yaml.MappingNode {
		var status struct{ Code int }
		if err := it.Response.Status.Decode(&status); err != nil {
			return raw{}, fmt.Errorf("response status: %s", oneLine(err))
		}
		code = status.Code
	}
	return raw{
		Request:  Request{Method: it.Request.Method, URL: it.Request.URL + it.Request.URI, Header: vcrHeader(it.Request.Headers), Body: request},
		Response: Response{Status: code, Header: vcrHeader(it.Response.Headers), Body: response},
	}, nil
}

func vcrHeader(h map[string]vcrValues) map[string][]string {
	plain := make(map[string][]string, len(h))
	for name, values := range h {
		plain[name] = values
	}
	return header(plain)
}

// bytes returns the body, nil when the recorder kept none.
func (b vcrBodies) bytes() ([]byte, error) {
	if !b.Parsed.IsZero() {
		return appendJSON(nil, &b.Parsed)
	}
	n := &b.Body
	if n.Kind == yaml.MappingNode {
		var wrapped struct {
			String yaml.Node `yaml:"string"`
		}
		if err := n.Decode(&wrapped); err != nil {
			return nil, err
		}
		n = &wrapped.String
	}
	switch {
	case n.IsZero() || n.Tag == "!!null":
		return nil, nil
	case n.Kind != yaml.ScalarNode:
		return nil, fmt.Errorf("line %d is not text", n.Line)
	case n.Tag == "!!binary":
		return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
	}
	return []byte(n.Value), nil
}

// oneLine keeps an error of the YAML library to one line.
func oneLine(err error) string {
	return strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " ")
}
