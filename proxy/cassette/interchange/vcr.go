package interchange

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
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
			Method    string     `yaml:"method"`
			URL       string     `yaml:"url"`
			URI       string     `yaml:"uri"`
			Proto     string     `yaml:"proto"`
			Headers   vcrHeaders `yaml:"headers"`
		} `yaml:"request"`
		Response struct {
			vcrBodies `yaml:",inline"`
			Headers   vcrHeaders `yaml:"headers"`
			Trailer   vcrHeaders `yaml:"trailer"`
			Proto     string     `yaml:"proto"`
			Code      int        `yaml:"code"`
			HTTPXCode int        `yaml:"status_code"`
			Status    yaml.Node  `yaml:"status"`
			Duration  string     `yaml:"duration"` // "" before go-vcr v2.1
		} `yaml:"response"`
		RecordedAt string `yaml:"recorded_at"`
	}
	// vcrBodies is a body as a scalar, as a mapping with string (vcrpy, Ruby) or
	// base64_string (Ruby), as the JSON value it stood for (parsed_body, a serialiser of
	// pydantic-ai), or under content (vcrpy before version 6, of httpx).
	vcrBodies struct {
		Body    yaml.Node `yaml:"body"`
		Content yaml.Node `yaml:"content"`
		Parsed  yaml.Node `yaml:"parsed_body"`
	}
	vcrHeaders map[string][]string
)

// UnmarshalYAML accepts a list of values and, from old recorders, one scalar. Of requests of aiohttp, vcrpy writes
// each name as a Python object: a list that holds the name.
func (h *vcrHeaders) UnmarshalYAML(n *yaml.Node) error {
	*h = vcrHeaders{}
	for i := 1; i < len(n.Content); i += 2 {
		name, value := n.Content[i-1], n.Content[i]
		if name.Kind == yaml.SequenceNode && len(name.Content) == 1 {
			name = name.Content[0]
		}
		values := []string{value.Value}
		if value.Kind != yaml.ScalarNode {
			if err := value.Decode(&values); err != nil {
				return err
			}
		}
		(*h)[name.Value] = append((*h)[name.Value], values...)
	}
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
	rec.IsRespelled = slices.ContainsFunc(items,
		func(it vcrItem) bool { return !it.Request.Parsed.IsZero() || !it.Response.Parsed.IsZero() })
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
		Proto: it.Request.Proto, Header: Canonical(it.Request.Headers)}
	in.Response = cassette.Response{Status: it.Response.Code + it.Response.HTTPXCode, Proto: it.Response.Proto,
		Header: Canonical(it.Response.Headers)}
	if took := it.Response.Duration; took != "" {
		if in.Duration, err = time.ParseDuration(took); err != nil {
			return in, fmt.Errorf("response duration %q: use a number with its unit, such as 1.5s", took)
		}
	}
	if in.Started, err = http.ParseTime(it.RecordedAt); err != nil { // VCR for R
		in.Started, _ = time.Parse("2006-01-02 15:04:05 MST", it.RecordedAt)
	}
	if len(it.Response.Trailer) > 0 {
		in.Response.Trailer = Canonical(it.Response.Trailer)
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

// bodyBytes returns the body, nil when the recorder kept none.
func (b vcrBodies) bodyBytes() ([]byte, error) {
	if !b.Parsed.IsZero() {
		return appendJSON(nil, &b.Parsed, 0)
	}
	n := &b.Body
	if n.IsZero() {
		n = &b.Content
	}
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

// nockCall is one element of what nock.recorder.play() returns with output_objects. A body
// that was JSON is the value itself, any other a text.
type nockCall struct {
	Scope    string          `json:"scope"`
	Method   string          `json:"method"`
	Path     string          `json:"path"`
	Request  nockHeader      `json:"reqheaders"` // kept on demand only
	Body     json.RawMessage `json:"body"`
	Status   int             `json:"status"`
	Headers  nockHeader      `json:"rawHeaders"`
	Response json.RawMessage `json:"response"`
	IsBinary bool            `json:"responseIsBinary"`
}

// nockHeader is a list of names and values by turns or, from nock 14 on, an object.
type nockHeader http.Header

func (h *nockHeader) UnmarshalJSON(data []byte) error {
	out := http.Header{}
	*h = nockHeader(out)
	var pairs []string
	if json.Unmarshal(data, &pairs) == nil {
		for i := 1; i < len(pairs); i += 2 {
			out.Add(pairs[i-1], pairs[i])
		}
		return nil
	}
	var named map[string]any
	err := json.Unmarshal(data, &named)
	for name, value := range named {
		list, isList := value.([]any)
		if !isList {
			list = []any{value}
		}
		for _, v := range list {
			out.Add(name, fmt.Sprint(v))
		}
	}
	return err
}

// readNock reads a JSON array.
func readNock(name string, data []byte) (Recording, error) {
	var calls []nockCall
	switch err := json.Unmarshal(data, &calls); {
	case err != nil && !json.Valid(data):
		return Recording{}, notRecordingError(name, fmt.Sprintf("is unreadable JSON (%v)", err))
	case len(calls) == 0 || calls[0].Scope == "" || calls[0].Path == "":
		return Recording{}, notRecordingError(name, "is a JSON array without the scope and path of nock")
	case err != nil:
		return Recording{}, brokenError(name, fmt.Sprintf("is not a recording of nock (%s)", oneLine(err)))
	}
	list := make([]cassette.Interaction, len(calls))
	for i, call := range calls {
		list[i].Request = cassette.Request{
			Method: cmp.Or(strings.ToUpper(call.Method), http.MethodGet),
			URL:    strings.TrimSuffix(call.Scope, ":443") + call.Path,
			Header: Canonical(call.Request), Body: nockBody(call.Body, http.Header(call.Request), false),
		}
		list[i].Response = cassette.Response{
			Status: call.Status, Header: Canonical(call.Headers),
			Body: nockBody(call.Response, http.Header(call.Headers), call.IsBinary),
		}
	}
	return newRecording(name, Nock, list)
}

// nockBody returns a body as it was on the wire. Bytes that are not text stand in hex, in some
// files in base64, and the chunks of a compressed reply in a list.
func nockBody(value json.RawMessage, h http.Header, isBinary bool) []byte {
	var text string
	isText := json.Unmarshal(value, &text) == nil
	isPacked := h.Get("Content-Encoding") != "" || strings.HasPrefix(text, hex.EncodeToString(gzipMagic))
	if isBinary || isPacked {
		encoded := text
		if !isText {
			encoded = string(value)
		}
		for _, decode := range []func(string) ([]byte, error){hex.DecodeString, base64.StdEncoding.DecodeString} {
			if body, err := joinChunks(encoded, decode); err == nil {
				return body
			}
		}
	}
	if isText || value == nil {
		return []byte(text)
	}
	var compact bytes.Buffer
	_ = json.Compact(&compact, value) // value was read before
	return compact.Bytes()
}

// maxDepth bounds nesting, because an anchor may contain itself.
const maxDepth = 10_000

var (
	errAliases = errors.New("grows beyond 256 MiB through YAML aliases")
	errDepth   = errors.New("is nested more than 10,000 deep, or an anchor holds itself")
)

// appendJSON writes a YAML value as JSON in the order of the file. The body was
// JSON before its recorder parsed it.
func appendJSON(dst []byte, n *yaml.Node, depth int) ([]byte, error) {
	switch {
	case len(dst) > maxBody:
		return nil, errAliases
	case depth > maxDepth:
		return nil, errDepth
	}
	switch n.Kind {
	case yaml.AliasNode:
		return appendJSON(dst, n.Alias, depth+1)
	case yaml.MappingNode:
		return appendList(dst, n, '{', '}', depth+1)
	case yaml.SequenceNode:
		return appendList(dst, n, '[', ']', depth+1)
	case yaml.ScalarNode:
		return appendScalar(dst, n)
	default:
		return nil, fmt.Errorf("line %d is not a JSON value", n.Line)
	}
}

func appendList(dst []byte, n *yaml.Node, open, end byte, depth int) ([]byte, error) {
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
			dst, err = appendJSON(dst, c, depth)
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

// fromJSON converts JSON to YAML nodes, for files that may be written in either.
// JSON is not quite YAML, which does not know surrogate pairs. data was
// validated before, so its nesting is bounded.
func fromJSON(data []byte) (*yaml.Node, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return nextNode(dec)
}

func nextNode(dec *json.Decoder) (*yaml.Node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		if v == '{' {
			n = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		}
		for dec.More() {
			child, err := nextNode(dec)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		_, err := dec.Token()
		return n, err
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return scalarNode("!!float", v.String()), nil
		}
		return scalarNode("!!int", v.String()), nil
	case bool:
		return scalarNode("!!bool", fmt.Sprint(v)), nil
	case string:
		return scalarNode("!!str", v), nil
	}
	return scalarNode("!!null", "null"), nil
}

func scalarNode(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}
