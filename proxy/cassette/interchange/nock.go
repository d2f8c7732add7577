package interchange

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

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
			Method: cmp.Or(strings.ToUpper(call.Method), http.MethodGet), URL: strings.TrimSuffix(call.Scope, ":443") + call.Path,
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
