// Package interchange reads and writes the recordings of other tools: go-vcr,
// vcrpy, VCR for Ruby, nock, HTTP Archives (also of Polly.js) and a plain directory layout.
//
// [Read] recognises the format by the bytes, [WriteHAR] writes an HTTP Archive:
//
//	recording, err := interchange.Read("session.har", data)
//	for _, interaction := range recording.Interactions {
//		decoded, err := interchange.Decoded(interaction)
//	}
//
// What a file does not say stays unsaid: no time, ending or body is invented.
// Nothing here redacts; the caller must redact what it keeps.
package interchange

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/proxy/cassette"
)

// Format is a file format for recordings.
type Format string

// The formats Read knows.
const (
	Cassette Format = "cassette" // this module's own
	GoVCR    Format = "go-vcr"   // go-vcr v2 (version 1), v3 and v4 (version 2)
	VCRPy    Format = "vcrpy"    // YAML or JSON
	RubyVCR  Format = "ruby-vcr" // VCR for Ruby and its port to R, YAML or JSON
	Nock     Format = "nock"     // what nock's recorder returns as objects
	HAR      Format = "har"      // HTTP Archive 1.1 to 1.3
	Corpus   Format = "corpus"   // a directory of NN.request.json, NN.response.json, NN.response.body
)

// Formats lists the formats of other tools.
func Formats() []Format { return []Format{GoVCR, VCRPy, RubyVCR, Nock, HAR, Corpus} }

// ErrNotRecording is wrapped for a readable file that is not a recording.
var ErrNotRecording = errors.New("not a recording of a known format")

// Recording is the content of one file or directory, in its order. A body is nil
// when the tool kept none, and empty when it was empty. Bodies are as recorded,
// possibly compressed (see [DecompressBody] and [Decoded]). Duration is 0, End empty and
// Timeline nil when the format does not have them.
type Recording struct {
	Format       Format
	Interactions []cassette.Interaction
	// Provenance is what the file says of who answered: one of the constants of package
	// cassette or of this one. It is ProvenanceUndeclared for another tool's file that does
	// not say. It holds for each interaction that does not say otherwise itself.
	Provenance string
	// Created is when the recording began by the clock of the tool, the zero time
	// when the file does not say or its times are nominal.
	Created time.Time
	// IsRespelled is set for a file with a parsed_body, whose writer replaces typographic
	// quotes and dashes by those of ASCII, in replies at least.
	IsRespelled bool
	// Loss is what a HAR exported from a cassette, or a cassette, lacks.
	Loss cassette.Loss
}

var (
	utf8BOM   = []byte("\xef\xbb\xbf")
	gzipMagic = []byte("\x1f\x8b")
)

// mitmproxyFlow matches the beginning of a file that mitmproxy writes: a dictionary of
// flows, each text with its length before it.
var mitmproxyFlow = regexp.MustCompile(`^\d+:\d+:(websocket|response|request|version|type|id|error|backup|comment|metadata)[;:]`)

// ReadFile reads the recording name in fsys: a file as [Read] does, or a directory of the corpus
// layout. Errors call it shown. A file of another tool is at most 256 MiB long, because it is
// read as a whole.
func ReadFile(fsys fs.FS, name, shown string) (Recording, error) {
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil:
		return Recording{}, unreadableError(shown, err)
	case info.IsDir():
		return readCase(fsys, name, shown)
	case !info.Mode().IsRegular():
		return Recording{}, fmt.Errorf("%s: is not a regular file; %w", shown, ErrNotRecording)
	}
	f, err := fsys.Open(name)
	if err != nil {
		return Recording{}, unreadableError(shown, err)
	}
	defer func() { _ = f.Close() }()
	in := bufio.NewReader(f)
	begin, _ := in.Peek(16) // an error shows again below
	if !IsCassette(begin) && info.Size() > maxBody {
		return Recording{}, fmt.Errorf("%s: is longer than 256 MiB; export fewer exchanges into one file", shown)
	}
	var data bytes.Buffer
	data.Grow(int(info.Size()) + bytes.MinRead)
	if _, err := data.ReadFrom(in); err != nil {
		return Recording{}, unreadableError(shown, err)
	}
	return Read(shown, data.Bytes())
}

// Read reads a recording, also compressed by gzip. The bytes decide the format, not the name:
// recordings are renamed, and a HAR is often called .json. Errors are one line that begins
// with the name; for a file that is not a recording they wrap ErrNotRecording.
func Read(name string, data []byte) (Recording, error) {
	if bytes.HasPrefix(data, gzipMagic) {
		var err error
		if data, err = gunzipFile(data); err != nil {
			return Recording{}, brokenError(name, err.Error())
		}
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(data, utf8BOM), " \t\r\n")
	ext := path.Ext(strings.TrimSuffix(name, ".gz"))
	switch {
	case len(text) == 0:
		return Recording{}, brokenError(name, "is empty")
	case ext == ".partial" || IsCassette(text):
		return readCassette(name, Cassette, data)
	case mitmproxyFlow.Match(text):
		return Recording{},
			fmt.Errorf("%s: is a flow file of mitmproxy; export it with mitmproxy 10.1 or newer: mitmdump -nr %s --set hardump=out.har", name, path.Base(name))
	case text[0] == '[' && (ext == ".json" || json.Valid(text)):
		return readNock(name, text)
	case text[0] == '{':
		return readJSON(name, text)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return Recording{}, notRecordingError(name, "is not text")
	}
	return readYAML(name, data)
}

// gunzipFile decompresses a whole file. Unlike a body, a file that was cut is no evidence.
func gunzipFile(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, errDamaged
	}
	switch data, err = io.ReadAll(io.LimitReader(r, maxBody+1)); {
	case err != nil:
		return nil, errDamaged
	case len(data) > maxBody:
		return nil, errTooLarge
	}
	return data, nil
}

// IsCassette recognises this module's files by the meta mapping at the
// beginning, for which 16 bytes are enough.
func IsCassette(text []byte) bool {
	text = bytes.TrimLeft(bytes.TrimPrefix(text, []byte("---")), "\r\n")
	return bytes.HasPrefix(text, []byte("meta:"))
}

// readCassette reads a cassette, or a file of stock go-vcr v2, which may be a
// cassette that it saved: both keep times and endings.
func readCassette(name string, format Format, data []byte) (Recording, error) {
	c, err := cassette.Parse(name, data)
	if err != nil {
		return Recording{}, err
	}
	list := make([]cassette.Interaction, 0, c.Len())
	for in, err := range c.All() {
		if err != nil {
			return Recording{}, err
		}
		list = append(list, in)
	}
	rec, err := newRecording(name, format, list)
	rec.Provenance = c.Meta().Provenance
	if format == GoVCR {
		rec.Provenance = savedProvenance(data, list)
	}
	if !c.Meta().Nominal() {
		rec.Created, _ = time.Parse(time.RFC3339, c.Meta().Created)
	}
	return rec, err
}

// ProvenanceLost is the provenance of a file that a cassette was saved or exported
// to, and that no longer says what the head of the cassette said.
const ProvenanceLost = "lost"

// ProvenanceUndeclared is the provenance of another tool's file, which does not say
// who answered: the host in the URL or what stood in its place.
const ProvenanceUndeclared = "undeclared"

// savedProvenance returns the provenance of a file of go-vcr v2. What a cassette
// was exported to says so in a comment. A cassette that go-vcr saved has lost its
// head but not the reserved headers.
func savedProvenance(data []byte, list []cassette.Interaction) string {
	if said := cassette.ExportedProvenance(data); said != "" {
		return said
	}
	saved := slices.ContainsFunc(list, func(in cassette.Interaction) bool { return len(cassette.Extras(in)) > 0 })
	if saved {
		return ProvenanceLost
	}
	return ProvenanceUndeclared
}

func newRecording(name string, format Format, list []cassette.Interaction) (Recording, error) {
	if len(list) == 0 {
		return Recording{}, fmt.Errorf("%s: holds no exchange; leave it out", name)
	}
	rec := Recording{Format: format, Interactions: list, Provenance: ProvenanceUndeclared}
	if slices.ContainsFunc(list, hasReservedHeader) {
		rec.Provenance = ProvenanceLost
	}
	return rec, nil
}

// hasReservedHeader reports whether another tool stored what this module's recorder wrote:
// its readers take the reserved headers away.
func hasReservedHeader(in cassette.Interaction) bool {
	for name := range in.Request.Header {
		if cassette.Reserved(name) {
			return true
		}
	}
	return false
}

// Canonical returns h with canonical names and without the pseudo headers of HTTP/2, which
// some tools store. Where nothing changes, it returns h itself.
func Canonical(h map[string][]string) http.Header {
	if h != nil && isCanonical(h) {
		return h
	}
	out := make(http.Header, len(h))
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if name == "" || name[0] == ':' {
			continue
		}
		for _, v := range h[name] {
			out.Add(name, v)
		}
	}
	return out
}

func isCanonical(h map[string][]string) bool {
	for name, values := range h {
		if name == "" || name[0] == ':' || len(values) == 0 || http.CanonicalHeaderKey(name) != name {
			return false
		}
	}
	return true
}

// notRecordingError says what a file should have been.
func notRecordingError(name, problem string) error {
	return fmt.Errorf("%s: %s; %w (cassette, go-vcr, vcrpy, VCR, nock, HAR or the corpus layout); convert it, for example to HAR",
		name, problem, ErrNotRecording)
}

// brokenError is the error for a recording that is damaged. It does not wrap ErrNotRecording,
// so that it is reported for files found in a directory as well.
func brokenError(name, problem string) error {
	return fmt.Errorf("%s: %s; restore it or leave it out", name, problem)
}

// unknownVersion is the error for a version of a format that this build does not read.
func unknownVersion(name string, format Format, version, reads string) error {
	return fmt.Errorf("%s: %s version %q is unknown, this build reads %s; convert it, for example to HAR", name, format,
		version, reads)
}

// unreadableError names the path and the reason of an I/O error.
func unreadableError(name string, err error) error {
	return fmt.Errorf("%s: %w; check the path and its permissions", name, fileutil.Reason(err))
}

// oneLine returns a parser's error on one line, without quoting the file.
func oneLine(err error) string {
	return strings.Join(strings.Fields(cassette.ParseErrorText(err)), " ")
}

// maxBody bounds what one body may grow to when it is decompressed, in bytes.
const maxBody = 256 << 20

// What can be wrong with a compressed body.
var (
	errTooLarge   = errors.New("unpacks to more than 256 MiB")
	errCompressed = errors.New("is compressed in a way this build does not read; record it decoded")
	errDamaged    = errors.New("is damaged where it is compressed")
)

// DecompressBody undoes a body's compression. The bytes decide before Content-Encoding
// does: most recorders decode the body and keep the header. A body that was cut
// in transfer yields what can be read of it, as a client would have seen.
func DecompressBody(h http.Header, body []byte) ([]byte, error) {
	coding := codingOf(strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding"))), body)
	if coding == "" {
		return body, nil
	}
	plain, err := cassette.Decompress(coding, body, maxBody)
	switch {
	case errors.Is(err, cassette.ErrUnknownCoding):
		return body, errCompressed
	case errors.Is(err, cassette.ErrBodyTooLarge):
		return nil, errTooLarge
	case err != nil:
		return nil, errDamaged
	}
	return plain, nil
}

// codingOf returns the content coding that a body still has, "" for a body that
// is readable as it is. header is the lower-case value of Content-Encoding.
func codingOf(header string, body []byte) string {
	switch {
	case bytes.HasPrefix(body, gzipMagic):
		return "gzip"
	case bytes.HasPrefix(body, []byte("\x28\xb5\x2f\xfd")):
		return "zstd"
	case header == "identity" || utf8.Valid(body):
		return ""
	}
	return header
}

// Decoded returns in as a cassette keeps it (pitfall G12): bodies decompressed,
// the compression named in Encoding and removed from the headers, and no
// timeline when its lengths were those of other bytes. It does not change in.
func Decoded(in cassette.Interaction) (cassette.Interaction, error) {
	if in.Request.Encoding != "" || in.Response.Encoding != "" {
		return in, nil // a recorder of ours has done it
	}
	request, err := DecompressBody(in.Request.Header, in.Request.Body)
	if err != nil {
		return in, fmt.Errorf("the request body %w", err)
	}
	response, err := DecompressBody(in.Response.Header, in.Response.Body)
	if err != nil {
		return in, fmt.Errorf("the response body %w", err)
	}
	if len(response) != len(in.Response.Body) {
		in.Timeline, in.Drained = nil, 0
	}
	in.Request.Encoding, in.Response.Encoding = wireCoding(in.Request.Header), wireCoding(in.Response.Header)
	in.Request.Header, in.Request.Body = decodedHeader(in.Request.Header, request), request
	in.Response.Header, in.Response.Body = decodedHeader(in.Response.Header, response), response
	return in, nil
}

// wireCoding returns the coding that the body had on the wire, whether it is
// undone here or was by the tool.
func wireCoding(h http.Header) string {
	v := strings.ToLower(strings.TrimSpace(strings.Join(h["Content-Encoding"], ",")))
	if v == "identity" {
		return ""
	}
	return v
}

// decodedHeader removes the headers that are not true of a decoded body, because
// a client would trust them.
func decodedHeader(h http.Header, body []byte) http.Header {
	h = h.Clone()
	h.Del("Content-Encoding")
	if v := h.Get("Content-Length"); body != nil && v != "" && v != strconv.Itoa(len(body)) {
		h.Del("Content-Length")
	}
	return h
}

// The corpus layout: one directory per case, three files per exchange. Bodies
// are stored decoded; headers describe the wire.
type (
	caseRequest struct {
		Method  string              `json:"method"`
		URL     string              `json:"url"`
		Headers map[string][]string `json:"headers"`
		Body    *string             `json:"body"` // null: the source had none
	}
	caseResponse struct {
		Status     int                 `json:"status"`
		Headers    map[string][]string `json:"headers"`
		ChunkSizes []int               `json:"recorded_chunk_sizes"`
	}
)

var caseFile = regexp.MustCompile(`^[0-9]+\.request\.json$`)

// IsCaseFile reports whether a file of that name makes its directory a case of
// the corpus layout.
func IsCaseFile(name string) bool { return caseFile.MatchString(name) }

// readCase reads the case directory dir of fsys, called shown in errors. When
// the source kept the sizes of chunks, the timeline has them, all at time 0.
func readCase(fsys fs.FS, dir, shown string) (Recording, error) {
	names, err := fs.Glob(fsys, path.Join(dir, "*.request.json"))
	if err != nil {
		return Recording{}, unreadableError(shown, err)
	}
	var list []cassette.Interaction
	for _, name := range names {
		if !IsCaseFile(path.Base(name)) {
			continue
		}
		in, err := readCaseExchange(fsys, strings.TrimSuffix(name, ".request.json"), shown)
		if err != nil {
			return Recording{}, err
		}
		list = append(list, in)
	}
	if len(list) == 0 {
		return Recording{}, notRecordingError(shown, "is a folder without N.request.json files")
	}
	return newRecording(shown, Corpus, list)
}

// readCaseExchange reads the three files that begin with stem.
func readCaseExchange(fsys fs.FS, stem, shown string) (in cassette.Interaction, err error) {
	var req caseRequest
	var resp caseResponse
	if err := readCaseJSON(fsys, stem+".request.json", shown, &req); err != nil {
		return in, err
	}
	if err := readCaseJSON(fsys, stem+".response.json", shown, &resp); err != nil {
		return in, err
	}
	body, err := fs.ReadFile(fsys, stem+".response.body")
	if err != nil {
		return in, unreadableError(path.Join(shown, path.Base(stem)+".response.body"), err)
	}
	in.Request = cassette.Request{Method: req.Method, URL: req.URL, Header: Canonical(req.Headers)}
	if req.Body != nil {
		in.Request.Body = []byte(*req.Body)
	}
	in.Response = cassette.Response{Status: resp.Status, Header: Canonical(resp.Headers), Body: body}
	in.Timeline = chunksOf(resp.ChunkSizes, len(body))
	return in, nil
}

// chunksOf returns the pieces of a body, without times, or none when the sizes
// are not those of the stored bytes.
func chunksOf(sizes []int, total int) []cassette.Chunk {
	var list []cassette.Chunk
	for _, n := range sizes {
		list = append(list, cassette.Chunk{Length: n})
		total -= n
	}
	if total != 0 {
		return nil
	}
	return list
}

func readCaseJSON(fsys fs.FS, name, shown string, v any) error {
	shown = path.Join(shown, path.Base(name))
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return unreadableError(shown, err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: unreadable JSON (%w); fetch the case again", shown, err)
	}
	return nil
}
