package interchange

import (
	"cmp"
	"encoding/base64"
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

// WriteHAR writes a HAR 1.2 of a cassette's interactions, one entry at a time.
// tool is who writes it, name and version. Read gives the same interactions
// back, by an extension called _cassette; only bytes in names and values that
// are not UTF-8 are lost, which JSON cannot hold (cassette.Difference finds them).
func WriteHAR(w io.Writer, tool, version string, meta cassette.Meta, loss cassette.Loss, list iter.Seq2[cassette.Interaction, error]) error {
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
		Headers: headerPairs(r.Header), Content: content, RedirectURL: r.Header.Get("Location"), HeadersSize: -1, BodySize: size,
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
