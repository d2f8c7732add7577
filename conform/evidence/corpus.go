package evidence

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
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

func readCase(fsys fs.FS, dir, shown string) (Recording, error) {
	names, err := fs.Glob(fsys, path.Join(dir, "*.request.json"))
	if err != nil {
		return Recording{}, unreadable(shown, err)
	}
	var all []raw
	for _, name := range names {
		if !caseFile.MatchString(path.Base(name)) {
			continue
		}
		r, err := readCaseExchange(fsys, strings.TrimSuffix(name, ".request.json"), shown)
		if err != nil {
			return Recording{}, err
		}
		all = append(all, r)
	}
	return assemble(shown, FormatCorpus, all)
}

// readCaseExchange reads the three files that begin with stem.
func readCaseExchange(fsys fs.FS, stem, shown string) (raw, error) {
	var req caseRequest
	var resp caseResponse
	if err := readJSON(fsys, stem+".request.json", shown, &req); err != nil {
		return raw{}, err
	}
	if err := readJSON(fsys, stem+".response.json", shown, &resp); err != nil {
		return raw{}, err
	}
	body, err := fs.ReadFile(fsys, stem+".response.body")
	if err != nil {
		return raw{}, unreadable(path.Join(shown, path.Base(stem)+".response.body"), err)
	}
	r := raw{
		Request:  Request{Method: req.Method, URL: req.URL, Header: header(req.Headers)},
		Response: Response{Status: resp.Status, Header: header(resp.Headers), Body: body, Chunks: chunks(resp.ChunkSizes, len(body))},
	}
	if req.Body != nil {
		r.Request.Body = []byte(*req.Body)
	}
	return r, nil
}

// chunks returns the pieces of a body, without times, or none when the sizes
// speak of other bytes than those stored.
func chunks(sizes []int, total int) []Chunk {
	var list []Chunk
	for _, n := range sizes {
		list = append(list, Chunk{Length: n})
		total -= n
	}
	if total != 0 {
		return nil
	}
	return list
}

func readJSON(fsys fs.FS, name, shown string, v any) error {
	shown = path.Join(shown, path.Base(name))
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return unreadable(shown, err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: unreadable JSON (%w); fetch the case again", shown, err)
	}
	return nil
}
