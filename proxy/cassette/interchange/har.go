package interchange

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

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
		Model        json.RawMessage `json:"model"`
		Messages     json.RawMessage `json:"messages"`
		Input        json.RawMessage `json:"input"`
		Contents     json.RawMessage `json:"contents"`
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
	case keys.Log == nil && (keys.Model != nil && (keys.Messages != nil || keys.Input != nil) || keys.Contents != nil):
		return Recording{}, fmt.Errorf("%s: is the body of one request and %w; conform lint request judges it", name,
			ErrNotRecording)
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
	case "", "1.1", "1.2", "1.3": // the specification reads a missing version as 1.1
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
	if !slices.ContainsFunc(list, func(in cassette.Interaction) bool { return in.Started.IsZero() }) {
		// HAR lets a writer list entries in any order.
		slices.SortStableFunc(list, func(a, b cassette.Interaction) int { return a.Started.Compare(b.Started) })
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
	in.Request = cassette.Request{Method: e.Request.Method, URL: e.Request.URL,
		Proto: protocolName(e.Request.HTTPVersion), Header: headerOf(e.Request.Headers)}
	in.Response = cassette.Response{Status: e.Response.Status, Proto: protocolName(e.Response.HTTPVersion),
		Header: headerOf(e.Response.Headers)}
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

// WriteHAR writes a HAR 1.2 of a cassette's interactions, one entry at a time.
// tool is who writes it, name and version. Read gives the same interactions
// back, by an extension called _cassette; only bytes in names and values that
// are not UTF-8 are lost, which JSON cannot hold (cassette.Difference finds them).
func WriteHAR(w io.Writer, tool, version string, meta cassette.Meta, loss cassette.Loss,
	list iter.Seq2[cassette.Interaction, error]) error {
	head, err := json.Marshal(harCreator{tool, version})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "{\"log\":{\"version\":\"1.2\",\"creator\":%s,\"comment\":%q,%s\"entries\":[", head,
		cassette.ExportComment(meta), lossMember(loss)); err != nil {
		return err
	}
	between := "\n"
	for in, err := range list {
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, between); err != nil {
			return err
		}
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		if err := e.Encode(entryOf(in, meta.Created)); err != nil {
			return err
		}
		between = ","
	}
	_, err = io.WriteString(w, "]}}\n")
	return err
}

// lossMember is the member of the log that says what the cassette lacks, or
// nothing.
func lossMember(loss cassette.Loss) string {
	if loss == (cassette.Loss{}) {
		return ""
	}
	return fmt.Sprintf(`"_cassette":{"lost":%d,"recovered":%t},`, loss.Lost, loss.Recovered)
}

// unknownStart stands in startedDateTime, which HAR demands, when a cassette
// does not say when it was made.
const unknownStart = "1970-01-01T00:00:00Z"

func entryOf(in cassette.Interaction, created string) harEntry {
	wait, receive := in.Duration, time.Duration(0)
	if n := len(in.Timeline); n > 0 {
		receive = min(in.Timeline[n-1].At, wait)
		wait -= receive
	}
	extras := cassette.Extras(in)
	extras[durationExtra] = in.Duration.String()
	return harEntry{
		Started: cmp.Or(created, unknownStart), Time: toMilliseconds(in.Duration),
		Request: requestOf(in.Request), Response: responseOf(in.Response),
		Timings:  harTimings{Wait: toMilliseconds(wait), Receive: toMilliseconds(receive)},
		Cassette: extras,
	}
}

// toMilliseconds is a time as HAR has it, never below 0, which would mean "unknown".
func toMilliseconds(d time.Duration) float64 { return max(float64(d)/float64(time.Millisecond), 0) }

func requestOf(r cassette.Request) harRequest {
	out := harRequest{
		Method: r.Method, URL: r.URL, HTTPVersion: r.Proto, Cookies: []struct{}{},
		Headers: headerPairs(r.Header), QueryString: queryPairs(r.URL), HeadersSize: -1, BodySize: len(r.Body),
	}
	if len(r.Body) > 0 {
		out.PostData = contentOf(r.Header, r.Body)
		out.PostData.Encoding, out.PostData.Packed = "", out.PostData.Encoding
	}
	return out
}

func responseOf(r cassette.Response) harResponse {
	content := contentOf(r.Header, r.Body)
	size := len(r.Body)
	content.Size = &size
	return harResponse{
		Status: r.Status, StatusText: http.StatusText(r.Status), HTTPVersion: r.Proto, Cookies: []struct{}{},
		Headers: headerPairs(r.Header), Content: content, RedirectURL: r.Header.Get("Location"), HeadersSize: -1,
		BodySize: size,
	}
}

func contentOf(h http.Header, body []byte) *harContent {
	text, encoding := string(body), ""
	if !utf8.Valid(body) {
		text, encoding = base64.StdEncoding.EncodeToString(body), "base64"
	}
	return &harContent{MimeType: h.Get("Content-Type"), Text: &text, Encoding: encoding}
}

func headerPairs(h http.Header) []harPair {
	list := []harPair{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			list = append(list, harPair{name, v})
		}
	}
	return list
}

// queryPairs lists the parameters in their order, which url.Values forgets.
func queryPairs(raw string) []harPair {
	list := []harPair{}
	u, err := url.Parse(raw)
	if err != nil || u.RawQuery == "" {
		return list
	}
	for field := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, _ := strings.Cut(field, "=")
		list = append(list, harPair{unescapeQuery(name), unescapeQuery(value)})
	}
	return list
}

func unescapeQuery(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}
