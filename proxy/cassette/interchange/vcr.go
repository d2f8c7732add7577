package interchange

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// The three families of cassettes are alike: go-vcr has request.url and response.code,
// vcrpy request.uri and response.status.code, and VCR for Ruby is like vcrpy with another
// name for the list.
type (
	vcrFile struct {
		Version      string    `yaml:"version"`
		Interactions []vcrItem `yaml:"interactions"`
		Ruby         []vcrItem `yaml:"http_interactions"`
	}
	vcrItem struct {
		Request struct {
			vcrBodies `yaml:",inline"`
			Method    string               `yaml:"method"`
			URL       string               `yaml:"url"`
			URI       string               `yaml:"uri"`
			Proto     string               `yaml:"proto"`
			Headers   map[string]vcrValues `yaml:"headers"`
		} `yaml:"request"`
		Response struct {
			vcrBodies `yaml:",inline"`
			Headers   map[string]vcrValues `yaml:"headers"`
			Trailer   map[string]vcrValues `yaml:"trailer"`
			Proto     string               `yaml:"proto"`
			Code      int                  `yaml:"code"`
			Status    yaml.Node            `yaml:"status"`
			Duration  string               `yaml:"duration"` // "" before go-vcr v2.1
		} `yaml:"response"`
		RecordedAt string `yaml:"recorded_at"`
	}
	// vcrBodies is a body as a scalar, as a mapping with string (vcrpy, Ruby) or
	// base64_string (Ruby), or as the JSON value it stood for (parsed_body, a serialiser of
	// pydantic-ai).
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

func readYAML(name string, data []byte) (Recording, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		problem := fmt.Sprintf("is unreadable YAML (%s)", oneLine(err))
		if bytes.Contains(data, []byte("interactions:")) {
			return Recording{}, brokenError(name, problem)
		}
		return Recording{}, notRecordingError(name, problem)
	}
	if len(doc.Content) == 0 || !hasInteractions(doc.Content[0]) {
		return Recording{}, notRecordingError(name, "is YAML without interactions")
	}
	return readVCR(name, data, doc.Content[0])
}

// readVCR reads the document root, whose text is data.
func readVCR(name string, data []byte, root *yaml.Node) (Recording, error) {
	var file vcrFile
	if err := root.Decode(&file); err != nil {
		return Recording{}, brokenError(name, fmt.Sprintf("is not a cassette (%s)", oneLine(err)))
	}
	format, items := GoVCR, file.Interactions
	switch {
	case file.Ruby != nil:
		format, items = RubyVCR, file.Ruby
	case len(items) > 0 && items[0].Request.URI != "": // vcrpy itself does not look at the version
		format = VCRPy
	case file.Version == "1": // go-vcr v2; v3 and v4 write 2
		return readCassette(name, format, data)
	case file.Version != "2":
		return Recording{}, unknownVersion(name, format, file.Version, "1 and 2")
	}
	var list []cassette.Interaction
	for i, item := range items {
		in, err := item.toInteraction()
		if err != nil {
			return Recording{}, fmt.Errorf("%s: interaction %d: %w; mend or remove that interaction", name, i, err)
		}
		list = append(list, in)
	}
	rec, err := newRecording(name, format, list)
	rec.IsRespelled = slices.ContainsFunc(items, func(it vcrItem) bool { return !it.Request.Parsed.IsZero() || !it.Response.Parsed.IsZero() })
	return rec, err
}

func hasInteractions(root *yaml.Node) bool {
	if root.Kind != yaml.MappingNode {
		return false
	}
	for i, n := range root.Content {
		if i%2 == 0 && (n.Value == "interactions" || n.Value == "http_interactions") {
			return true
		}
	}
	return false
}

func (it vcrItem) toInteraction() (in cassette.Interaction, err error) {
	in.Request = cassette.Request{Method: strings.ToUpper(it.Request.Method), URL: it.Request.URL + it.Request.URI,
		Proto: it.Request.Proto, Header: vcrHeader(it.Request.Headers)}
	in.Response = cassette.Response{Status: it.Response.Code, Proto: it.Response.Proto, Header: vcrHeader(it.Response.Headers)}
	if took := it.Response.Duration; took != "" {
		if in.Duration, err = time.ParseDuration(took); err != nil {
			return in, fmt.Errorf("response duration %q: use a number with its unit, such as 1.5s", took)
		}
	}
	if in.Started, err = http.ParseTime(it.RecordedAt); err != nil { // VCR for R
		in.Started, _ = time.Parse("2006-01-02 15:04:05 MST", it.RecordedAt)
	}
	if len(it.Response.Trailer) > 0 {
		in.Response.Trailer = vcrHeader(it.Response.Trailer)
	}
	if in.Request.Body, err = it.Request.bodyBytes(); err != nil {
		return in, fmt.Errorf("request body: %w", err)
	}
	if in.Response.Body, err = it.Response.bodyBytes(); err != nil {
		return in, fmt.Errorf("response body: %w", err)
	}
	switch status := it.Response.Status; {
	case status.Kind == yaml.MappingNode:
		var named struct{ Code int }
		err = status.Decode(&named)
		in.Response.Status = named.Code
	case status.ShortTag() == "!!int": // VCR for R
		err = status.Decode(&in.Response.Status)
	}
	if err != nil {
		return in, fmt.Errorf("response status: %s", oneLine(err))
	}
	return in, nil
}

func vcrHeader(h map[string]vcrValues) http.Header {
	plain := make(map[string][]string, len(h))
	for name, values := range h {
		plain[name] = values
	}
	return Canonical(plain)
}

// bodyBytes returns the body, nil when the recorder kept none.
func (b vcrBodies) bodyBytes() ([]byte, error) {
	if !b.Parsed.IsZero() {
		return appendJSON(nil, &b.Parsed, 0)
	}
	n := &b.Body
	if n.Kind == yaml.MappingNode {
		var wrapped struct {
			String yaml.Node `yaml:"string"`
			Base64 yaml.Node `yaml:"base64_string"`
		}
		if err := n.Decode(&wrapped); err != nil {
			return nil, fmt.Errorf("%s", oneLine(err))
		}
		if n = &wrapped.String; !wrapped.Base64.IsZero() {
			n = &wrapped.Base64
			n.Tag = "!!binary"
		}
	}
	switch {
	case n.IsZero() || n.Tag == "!!null":
		return nil, nil
	case n.Kind != yaml.ScalarNode:
		return nil, fmt.Errorf("line %d is not text", n.Line)
	case n.Tag == "!!binary" || n.Tag == "!binary": // as Ruby writes it
		return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
	}
	return []byte(n.Value), nil
}
