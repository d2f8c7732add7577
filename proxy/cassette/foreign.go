package cassette

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
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
		return nil, newError(name, ErrVersion,
			"go-vcr format %d: this build reads %d, the one of go-vcr v2; convert it with: recorder import %s --cassette NEW",
			*f.Version, vcrVersion, name)
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
	return newError(name, ErrFormat,
		"is not a cassette (%s); give a file that recorder or go-vcr v2 wrote, or convert it with: recorder import %s --cassette NEW", why, name)
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

// largeForeign is the size, in bytes, from which a file without seals is kept as text and
// decoded item by item when asked: decoded as a whole it needs four times its size.
const largeForeign = 16 << 20

// splitForeign finds the items of a file that go-vcr wrote, and decodes each once to check it.
// It reports false for a file in another layout, which has to be parsed as a whole.
func (c *Cassette) splitForeign(data []byte) bool {
	if alterationReason(data) != "" {
		return false
	}
	head, items := cutItems(data)
	if !isPlainHead(head) {
		return false
	}
	for _, item := range items {
		if _, err := decodeForeignItem(item); err != nil {
			return false
		}
	}
	c.items = items
	return len(items) > 0
}

// cutItems cuts a file at the lines that begin an item as the first one does: no line of
// a body is indented as little.
func cutItems(data []byte) (head []byte, items [][]byte) {
	const dash = "- request:\n"
	at := bytes.Index(data, []byte(dash))
	if at < 0 {
		return data, nil
	}
	start := bytes.LastIndexByte(data[:at], '\n') + 1
	head = data[:start]
	mark := "\n" + string(data[start:at+len(dash)])
	for rest := data[start:]; ; {
		n := bytes.Index(rest, []byte(mark)) + 1
		if n == 0 {
			return head, append(items, rest)
		}
		items, rest = append(items, rest[:n:n]), rest[n:]
	}
}

// isPlainHead reports whether what stands before the items is what go-vcr v2 writes there.
func isPlainHead(head []byte) bool {
	var file struct {
		Version      int        `yaml:"version"`
		Interactions *yaml.Node `yaml:"interactions"`
	}
	d := yaml.NewDecoder(bytes.NewReader(head))
	d.KnownFields(true)
	return d.Decode(&file) == nil && file.Version == vcrVersion && bytes.HasSuffix(head, []byte("interactions:\n"))
}

// decodeForeignItem decodes one item of a file that go-vcr wrote.
func decodeForeignItem(item []byte) (Interaction, error) {
	var items []*vcrItem
	d := yaml.NewDecoder(bytes.NewReader(item))
	d.KnownFields(true)
	if err := d.Decode(&items); err != nil {
		return Interaction{}, err
	}
	if err := d.Decode(new(yaml.Node)); len(items) != 1 || !errors.Is(err, io.EOF) {
		return Interaction{}, errors.New("more than one item")
	}
	return items[0].toInteraction()
}

// plainHead is how stock go-vcr v2 begins a file.
const plainHead = "---\nversion: 1\ninteractions:\n"

// exportedFrom begins what an export says of the cassette it was made from: a
// comment before a file of go-vcr v2, the comment of a HAR. The provenance follows.
const exportedFrom = "exported from a cassette of provenance "

// ExportComment returns the comment that keeps the provenance of m in an export.
func ExportComment(m Meta) string { return exportedFrom + cmp.Or(m.Provenance, ProvenanceImport) }

// ExportedProvenance returns the provenance that an export's comment names, ""
// when data does not begin with one.
func ExportedProvenance(data []byte) string {
	line, _, _ := strings.Cut(strings.TrimPrefix(string(data[:min(len(data), 200)]), "# "), "\n")
	said, ok := strings.CutPrefix(line, exportedFrom)
	if !ok {
		return ""
	}
	return strings.TrimSpace(said)
}

// WriteGoVCR writes interactions as a plain file of go-vcr v2: without meta,
// seals and reserved headers, behind a comment that names the provenance of meta. It
// loses the chunks and their times, the ending,
// trailers and protocols; everything else is as in a cassette, byte for byte.
// The first interaction that cannot be written so is an error and ends the file.
func WriteGoVCR(w io.Writer, meta Meta, list iter.Seq2[Interaction, error]) error {
	if _, err := io.WriteString(w, "# "+ExportComment(meta)+"\n"+plainHead); err != nil {
		return err
	}
	i := 0
	for in, err := range list {
		if err != nil {
			return err
		}
		e := newEntry(Bare(in))
		if e.err != nil {
			return fmt.Errorf("interaction %d cannot be written: %w", i, e.err)
		}
		for piece := range e.pieces {
			if _, err := w.Write(piece); err != nil {
				return err
			}
		}
		i++
	}
	return nil
}

// Bare returns in without what go-vcr v2 has no place for.
func Bare(in Interaction) Interaction {
	return Interaction{
		Request: Request{Method: in.Request.Method, URL: in.Request.URL, Header: in.Request.Header,
			Body: in.Request.Body},
		Response: Response{Status: in.Response.Status, Header: in.Response.Header, Body: in.Response.Body},
		Duration: in.Duration,
	}
}

// Extras returns what go-vcr has no place for, as in the reserved headers: their
// values by the lower-case rest of their names, such as timeline and end.
func Extras(in Interaction) map[string]string {
	in.Request.Header = nil
	extras := map[string]string{}
	for name, values := range withReserved(in) {
		extras[strings.ToLower(strings.TrimPrefix(name, reservedPrefix))] = values[0]
	}
	return extras
}

// SetExtras is the inverse of Extras: it sets in's extras, and no others.
// Unknown extras are ignored. It changes in's request header.
func SetExtras(in *Interaction, extras map[string]string) error {
	if in.Request.Header == nil {
		in.Request.Header = http.Header{}
	}
	for name, value := range extras {
		in.Request.Header[http.CanonicalHeaderKey(reservedPrefix+name)] = []string{value}
	}
	return takeReserved(in)
}

// Difference names the first part in which a copy of an interaction differs from
// the original, or "". Times of chunks are compared in microseconds; a header
// without values counts as none, and reserved request headers are ignored.
func Difference(original, copied Interaction) string { return firstDifference(original, copied) }
