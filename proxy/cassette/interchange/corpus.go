package interchange

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

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

// ReadCase reads the case directory dir of fsys, called shown in errors. When
// the source kept the sizes of chunks, the timeline has them, all at time 0.
func ReadCase(fsys fs.FS, dir, shown string) (Recording, error) {
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
