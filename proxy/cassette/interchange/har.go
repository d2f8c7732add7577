package interchange

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// An HTTP Archive 1.2. Names that begin with _ are extensions, which the format
// leaves to the tools.
type (
	harFile struct {
		Log *harLog `json:"log"`
	}
	harLog struct {
		Version string     `json:"version"`
		Creator harCreator `json:"creator"`
		Entries []harEntry `json:"entries"`
		Comment string     `json:"comment,omitempty"`
		// Loss is what the cassette said was lacking.
		Loss cassette.Loss `json:"_cassette"`
	}
	harCreator struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	harEntry struct {
		Started  string      `json:"startedDateTime"`
		Time     float64     `json:"time"` // ms, -1 when unknown
		Request  harRequest  `json:"request"`
		Response harResponse `json:"response"`
		Cache    struct{}    `json:"cache"`
		Timings  harTimings  `json:"timings"`
		// Cassette is what HAR has no place for (cassette.Extras), and the exact
		// duration. With it, names of headers are exact, too.
		Cassette map[string]string `json:"_cassette,omitempty"`
	}
	harRequest struct {
		Method      string      `json:"method"`
		URL         string      `json:"url"`
		HTTPVersion string      `json:"httpVersion"`
		Cookies     []struct{}  `json:"cookies"`
		Headers     []harPair   `json:"headers"`
		QueryString []harPair   `json:"queryString"`
		PostData    *harContent `json:"postData,omitempty"`
		HeadersSize int         `json:"headersSize"`
		BodySize    int         `json:"bodySize"`
	}
	harResponse struct {
		Status      int         `json:"status"`
		StatusText  string      `json:"statusText"`
		HTTPVersion string      `json:"httpVersion"`
		Cookies     []struct{}  `json:"cookies"`
		Headers     []harPair   `json:"headers"`
		Content     *harContent `json:"content"`
		RedirectURL string      `json:"redirectURL"`
		HeadersSize int         `json:"headersSize"`
		BodySize    int         `json:"bodySize"`
	}
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	// harContent is a body. Text is absent where the tool kept none, as browsers
	// do for streams. Polly.js writes the chunks of a binary body as a JSON array.
	harContent struct {
		Size     *int      `json:"size,omitempty"`
		MimeType string    `json:"mimeType"`
		Text     *string   `json:"text,omitempty"`
		Encoding string    `json:"encoding,omitempty"`
		Packed   string    `json:"_encoding,omitempty"` // postData has no encoding of its own
		Hex      bool      `json:"_isBinary,omitempty"` // of Polly.js before version 6
		Params   []harPair `json:"params,omitempty"`
	}
	harTimings struct {
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
)

// readJSON reads a HAR, or a cassette of the JSON serialisers of vcrpy and VCR for Ruby.
func readJSON(name string, data []byte) (Recording, error) {
	var keys struct {
		Log          json.RawMessage `json:"log"`
		Interactions json.RawMessage `json:"interactions"`
		Ruby         json.RawMessage `json:"http_interactions"`
	}
	if err := json.Unmarshal(data, &keys); err != nil {
		problem := fmt.Sprintf("is unreadable JSON (%v)", err)
		if bytes.Contains(data, []byte(`"entries"`)) || bytes.Contains(data, []byte(`interactions"`)) {
			return Recording{}, brokenError(name, problem)
		}
		return Recording{}, notRecordingError(name, problem)
	}
	switch {
	case keys.Log == nil && (keys.Interactions != nil || keys.Ruby != nil):
		root, err := fromJSON(data)
		if err != nil {
			return Recording{}, brokenError(name, fmt.Sprintf("is unreadable JSON (%v)", err))
		}
		return readVCR(name, data, root)
	case keys.Log == nil:
		return Recording{}, notRecordingError(name, `is JSON without "log" or "interactions"`)
	}
	return readHAR(name, data)
}

func readHAR(name string, data []byte) (Recording, error) {
	var file harFile
	if err := json.Unmarshal(data, &file); err != nil {
		return Recording{}, brokenError(name, fmt.Sprintf("is not a HAR (%s)", oneLine(err)))
	}
	if file.Log == nil {
		return Recording{}, notRecordingError(name, `is JSON without "log"`)
	}
	switch file.Log.Version {
	case "1.1", "1.2", "1.3":
	default:
		return Recording{}, unknownVersion(name, HAR, file.Log.Version, "1.1 to 1.3")
	}
	var list []cassette.Interaction
	for i, e := range file.Log.Entries {
		in, err := e.toInteraction()
		if err != nil {
			return Recording{}, fmt.Errorf("%s: entry %d: %w; mend or remove that entry", name, i, err)
		}
		list = append(list, in)
	}
	rec, err := newRecording(name, HAR, list)
	rec.Loss = file.Log.Loss
	if said := cassette.ExportedProvenance([]byte(file.Log.Comment)); said != "" {
		rec.Provenance = said
	} else if slices.ContainsFunc(file.Log.Entries, func(e harEntry) bool { return e.Cassette != nil }) {
		rec.Provenance = ProvenanceLost
	}
	return rec, err
}

func (e harEntry) toInteraction() (in cassette.Interaction, err error) {
	in.Request = cassette.Request{Method: e.Request.Method, URL: e.Request.URL, Proto: protocolName(e.Request.HTTPVersion), Header: headerOf(e.Request.Headers)}
	in.Response = cassette.Response{Status: e.Response.Status, Proto: protocolName(e.Response.HTTPVersion), Header: headerOf(e.Response.Headers)}
	in.Duration = time.Duration(max(e.Time, 0) * float64(time.Millisecond)).Round(time.Microsecond)
	if e.Started != unknownStart {
		in.Started, _ = time.Parse(time.RFC3339, e.Started)
	}
	if in.Request.Body, err = e.Request.bodyBytes(); err != nil {
		return in, fmt.Errorf("request body: %w", err)
	}
	if in.Response.Body, err = e.Response.Content.bodyBytes(); err != nil {
		return in, fmt.Errorf("response body: %w", err)
	}
	if e.Cassette == nil {
		in.Request.Header, in.Response.Header = Canonical(in.Request.Header), Canonical(in.Response.Header)
		return in, nil
	}
	return in, restoreExtras(&in, e.Cassette)
}

// bodyBytes returns nil for a body that was sent and not kept, which an archive
// tells by its size.
func (r harRequest) bodyBytes() ([]byte, error) {
	if r.PostData == nil && r.BodySize <= 0 {
		return []byte{}, nil
	}
	return r.PostData.bodyBytes()
}

// bodyBytes returns the body, nil when the tool kept none.
func (c *harContent) bodyBytes() ([]byte, error) {
	switch {
	case c != nil && c.Text == nil && c.Size != nil && *c.Size == 0:
		return []byte{}, nil
	case c == nil || c.Text == nil:
		return nil, nil
	case c.Hex:
		return joinChunks(*c.Text, hex.DecodeString)
	case cmp.Or(c.Encoding, c.Packed) == "base64":
		return joinChunks(*c.Text, base64.StdEncoding.DecodeString)
	}
	return []byte(*c.Text), nil
}

// joinChunks decodes text, or each of the chunks where text is a JSON array of them.
func joinChunks(text string, decode func(string) ([]byte, error)) (body []byte, err error) {
	chunks := []string{text}
	if strings.HasPrefix(text, "[") {
		if err := json.Unmarshal([]byte(text), &chunks); err != nil {
			return nil, fmt.Errorf("is not a JSON array of encoded chunks (%w)", err)
		}
	}
	for _, chunk := range chunks {
		part, err := decode(chunk)
		if err != nil {
			return nil, err
		}
		body = append(body, part...)
	}
	return body, nil
}

func headerOf(list []harPair) http.Header {
	h := http.Header{}
	for _, e := range list {
		h[e.Name] = append(h[e.Name], e.Value)
	}
	return h
}

// protocolName is the protocol as net/http writes it; tools write HTTP/2 in many ways.
func protocolName(version string) string {
	switch strings.ToLower(version) {
	case "http/1.0":
		return "HTTP/1.0"
	case "http/1.1":
		return "HTTP/1.1"
	case "h2", "http/2", "http/2.0":
		return "HTTP/2.0"
	case "h3", "http/3", "http/3.0":
		return "HTTP/3.0"
	}
	return ""
}

// durationExtra is beside the extras of a cassette: HAR has milliseconds.
const durationExtra = "duration"

// restoreExtras puts back what WriteHAR could only say in our own field.
func restoreExtras(in *cassette.Interaction, extras map[string]string) (err error) {
	if in.Duration, err = time.ParseDuration(extras[durationExtra]); err != nil {
		return fmt.Errorf("_cassette: duration %q is none", extras[durationExtra])
	}
	delete(extras, durationExtra)
	if err := cassette.SetExtras(in, extras); err != nil {
		return fmt.Errorf("_cassette: %w", err)
	}
	return nil
}
