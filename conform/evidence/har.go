package evidence

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// The parts of an HTTP Archive that matter here (HAR 1.2).
type (
	harFile struct {
		Log *struct {
			Version string     `json:"version"`
			Entries []harEntry `json:"entries"`
		} `json:"log"`
	}
	harEntry struct {
		Request struct {
			Method   string      `json:"method"`
			URL      string      `json:"url"`
			Headers  []harHeader `json:"headers"`
			PostData *harContent `json:"postData"`
		} `json:"request"`
		Response struct {
			Status  int         `json:"status"`
			Headers []harHeader `json:"headers"`
			Content *harContent `json:"content"`
		} `json:"response"`
	}
	harHeader struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	// harContent is a body. Text is absent where the tool kept none, as browsers
	// do for streams.
	harContent struct {
		Text     *string `json:"text"`
		Encoding string  `json:"encoding"`
	}
)

func readHAR(name string, data []byte) (Recording, error) {
	var file harFile
	if err := json.Unmarshal(data, &file); err != nil {
		problem := fmt.Sprintf("is unreadable JSON (%v)", err)
		if bytes.Contains(data, []byte(`"entries"`)) {
			return Recording{}, broken(name, problem)
		}
		return Recording{}, notRecording(name, problem)
	}
	if file.Log == nil {
		return Recording{}, notRecording(name, `is JSON without "log"`)
	}
	switch file.Log.Version {
	case "1.1", "1.2", "1.3":
	default:
		return Recording{}, fmt.Errorf("%s: HAR version %q is unknown; export it as 1.2", name, file.Log.Version)
	}
	var all []raw
	for i, e := range file.Log.Entries {
		r, err := e.raw()
		if err != nil {
			return Recording{}, fmt.Errorf("%s: entry %d: %w; export it again", name, i, err)
		}
		all = append(all, r)
	}
	return assemble(name, FormatHAR, all)
}

func (e harEntry) raw() (raw, error) {
	request, err := e.Request.PostData.bytes()
	if err != nil {
		return raw{}, fmt.Errorf("request body: %w", err)
	}
	response, err := e.Response.Content.bytes()
	if err != nil {
		return raw{}, fmt.Errorf("response body: %w", err)
	}
	return raw{
		Request:  Request{Method: e.Request.Method, URL: e.Request.URL, Header: harHeaders(e.Request.Headers), Body: request},
		Response: Response{Status: e.Response.Status, Header: harHeaders(e.Response.Headers), Body: response},
	}, nil
}

// bytes returns the body, nil when the tool kept none.
func (c *harContent) bytes() ([]byte, error) {
	switch {
	case c == nil || c.Text == nil:
		return nil, nil
	case c.Encoding == "base64":
		return base64.StdEncoding.DecodeString(*c.Text)
	}
	return []byte(*c.Text), nil
}

func harHeaders(list []harHeader) map[string][]string {
	h := map[string][]string{}
	for _, e := range list {
		h[e.Name] = append(h[e.Name], e.Value)
	}
	return header(h)
}
