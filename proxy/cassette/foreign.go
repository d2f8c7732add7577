package cassette

import (
	"bytes"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

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
		Form    yaml.Node   `yaml:"form"` // repeats what the URL and the body say
		Headers http.Header `yaml:"headers"`
		URL     string      `yaml:"url"`
		Method  string      `yaml:"method"`
	}
	vcrResponse struct {
		Body     string      `yaml:"body"`
		Headers  http.Header `yaml:"headers"`
		Status   yaml.Node   `yaml:"status"` // repeats what the code says
		Code     int         `yaml:"code"`
		Duration vcrDuration `yaml:"duration"`
	}
	vcrDuration time.Duration
)

// UnmarshalYAML accepts the empty text that go-vcr wrote before v2.1.
func (d *vcrDuration) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && n.Value == "" {
		return nil
	}
	return n.Decode((*time.Duration)(d))
}

// vcrVersion is the only version that go-vcr v1 and v2 write; v3 and v4 write 2.
const vcrVersion = 1

// parseForeign reads a file that go-vcr v2 wrote, including a cassette that
// go-vcr saved. Keys that go-vcr does not write are an error (pitfall V6),
// because their meaning would be lost.
func parseForeign(name string, data []byte) ([]Interaction, error) {
	if how := alterationReason(data); how != "" {
		return nil, newError(name, ErrDamaged, "%s", how)
	}
	if advice := notTextAdvice(data); advice != "" {
		return nil, newError(name, ErrFormat, "is not a cassette (%s", advice)
	}
	var f vcrFile
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil {
		return nil, notCassette(name, ParseErrorText(err))
	}
	_, _, closed := readClose(data)
	switch {
	case !f.Meta.IsZero():
		return nil, damagedError(name, "its formatting")
	case closed:
		return nil, damagedError(name, "the head")
	case f.Version == nil:
		return nil, notCassette(name, "no version")
	case *f.Version != vcrVersion:
		return nil, newError(name, ErrVersion, "go-vcr format %d: this build reads %d, the one of go-vcr v2; convert it with: recorder import %s --cassette NEW", *f.Version, vcrVersion, name)
	}
	out := make([]Interaction, len(f.Interactions))
	for i, item := range f.Interactions {
		var err error
		if out[i], err = item.toInteraction(); err != nil {
			return nil, notCassette(name, fmt.Sprintf("interaction %d: %v", i, err))
		}
	}
	return out, nil
}

// alterationReason says how another program changed a cassette as a whole, or
// "".
func alterationReason(data []byte) string {
	const crlf = "---\r\nmeta:\r\n"
	text, marked := bytes.CutPrefix(data, []byte("\xef\xbb\xbf"))
	switch {
	case bytes.HasPrefix(text, []byte(crlf)):
		return "its line ends were changed to CRLF, as git does for text; add \"*.yaml -text\" to .gitattributes and check it out again"
	case marked && isOurs(text):
		return "a byte order mark was put before it, as editors do; restore the file from a copy"
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return "its text was changed to UTF-16, as PowerShell does; restore the file from a copy"
	}
	return ""
}

// notTextAdvice says what data is that cannot be YAML and what to do instead, or "".
func notTextAdvice(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		return "it is compressed with gzip); decompress it with gunzip"
	case !utf8.Valid(data), bytes.IndexByte(data, 0) >= 0:
		return "it is not text); give a file that recorder or go-vcr v2 wrote"
	}
	return ""
}

func notCassette(name, why string) error {
	return newError(name, ErrFormat, "is not a cassette (%s); give a file that recorder or go-vcr v2 wrote, or convert it with: recorder import %s --cassette NEW", why, name)
}

// toInteraction converts an item that YAML decoded. Reserved headers survive a
// Save of stock go-vcr, so the timeline does too.
func (v *vcrItem) toInteraction() (in Interaction, err error) {
	if in, err = v.withReserved(); err != nil {
		return in, err
	}
	return in, takeReserved(&in)
}

// withReserved is toInteraction with the reserved headers still among those of the request.
func (v *vcrItem) withReserved() (in Interaction, err error) {
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
		Duration: time.Duration(v.Response.Duration),
	}
	return in, nil
}

func orEmpty(h http.Header) http.Header {
	if h == nil {
		return http.Header{}
	}
	return h
}

// decodeAnyItem reads one item of a sealed file.
func decodeAnyItem(item []byte) (Interaction, error) {
	in, err := readItem(item)
	if err != nil {
		return Interaction{}, err
	}
	return in, takeReserved(&in)
}

// readItem is decodeAnyItem with the reserved headers still among those of the request.
func readItem(item []byte) (Interaction, error) {
	if in, ok := decodeItem(item); ok {
		return in, nil
	}
	var items []*vcrItem
	if err := yaml.Unmarshal(item, &items); err != nil {
		return Interaction{}, err
	}
	if len(items) != 1 {
		return Interaction{}, fmt.Errorf("%d items where one should be", len(items))
	}
	return items[0].withReserved()
}
