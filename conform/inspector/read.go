package inspector

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxUnpacked bounds the bodies of a page that is read, in bytes.
const maxUnpacked = 1 << 30

// ErrNotPage is wrapped by [Read] for data that are neither a document of the inspector
// nor a page that holds one.
var ErrNotPage = errors.New("is not a document of the inspector")

// A page holds its document as JSON in gzip in base64. Pages of the first release hold
// JSON.
var (
	packedBegins = []byte(`<script type="application/gzip" id="data">`)
	plainBegins  = []byte(`<script type="application/json" id="data">`)
	dataEnds     = []byte(`</script>`)
)

// Read reads what [Write] or [WriteJSON] wrote. The page may come from others: its
// bodies are bounded, and every chunk that a body names is there.
func Read(data []byte) (Page, error) {
	data, err := documentOf(data)
	if err != nil {
		return Page{}, fmt.Errorf("is a damaged document of the inspector: %w", err)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil || !strings.HasPrefix(head.Schema, "conform.inspector.") {
		return Page{}, ErrNotPage
	}
	if head.Schema != Schema {
		return Page{}, fmt.Errorf("has the schema %q; this program reads %s", head.Schema, Schema)
	}
	var p Page
	if err := json.Unmarshal(data, &p); err != nil {
		return Page{}, fmt.Errorf("is a damaged document of the inspector: %w", err)
	}
	if err := p.verifyBodies(); err != nil {
		return Page{}, fmt.Errorf("is a damaged document of the inspector: %w", err)
	}
	return p, nil
}

// documentOf returns the document that a page holds, and other data as they are.
func documentOf(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")) {
		return data, nil
	}
	_, plain, _ := bytes.Cut(data, plainBegins)
	_, packed, isPacked := bytes.Cut(data, packedBegins)
	if !isPacked {
		plain, _, _ = bytes.Cut(plain, dataEnds)
		return plain, nil
	}
	packed, _, _ = bytes.Cut(packed, dataEnds)
	r, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(packed)))
	if err != nil {
		return nil, err
	}
	document, err := io.ReadAll(io.LimitReader(r, maxUnpacked+1))
	if err == nil && len(document) > maxUnpacked {
		err = fmt.Errorf("it has more than %d bytes", maxUnpacked)
	}
	return document, err
}

// Content returns the bytes of a body of p, nil where p does not hold them.
func (p Page) Content(body *Body) []byte {
	chunks, err := p.unpackChunks()
	if err != nil || body == nil || body.Length > 0 && body.Chunks == nil {
		return nil
	}
	var content []byte
	for _, run := range body.Chunks {
		for i := run[0]; i < run[0]+run[1] && i < len(chunks); i++ {
			content = append(content, chunks[i]...)
		}
	}
	return content
}

// unpackChunks returns all chunks.
func (p Page) unpackChunks() (chunks [][]byte, err error) {
	left := int64(maxUnpacked)
	for _, pack := range p.Packs {
		r, err := gzip.NewReader(bytes.NewReader(pack.Data))
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.LimitReader(r, left+1))
		if err != nil {
			return nil, err
		}
		if left -= int64(len(data)); left < 0 {
			return nil, fmt.Errorf("its bodies have more than %d bytes", maxUnpacked)
		}
		for _, size := range pack.Sizes {
			if size < 0 || size > len(data) {
				return nil, errors.New("a pack is shorter than its chunks")
			}
			chunks, data = append(chunks, data[:size]), data[size:]
		}
		if len(data) > 0 {
			return nil, errors.New("a pack is longer than its chunks")
		}
	}
	return chunks, nil
}

// verifyBodies returns an error for a body whose chunks are not there, or are not as
// long as it is.
func (p Page) verifyBodies() error {
	if slices.Contains(p.Cases, nil) {
		return errors.New("a case is null")
	}
	chunks, err := p.unpackChunks()
	if err != nil {
		return err
	}
	for _, body := range p.allBodies() {
		length := 0
		for _, run := range body.Chunks {
			if run[0] < 0 || run[1] < 0 || run[0] > len(chunks) || run[1] > len(chunks)-run[0] {
				return errors.New("a body names chunks that are not there")
			}
			for _, chunk := range chunks[run[0] : run[0]+run[1]] {
				length += len(chunk)
			}
			if length > body.Length {
				return errors.New("a body is longer than it says")
			}
		}
		if body.Chunks != nil && length != body.Length {
			return errors.New("a body is shorter than it says")
		}
	}
	return nil
}

// allBodies lists every body of the page.
func (p Page) allBodies() (list []*Body) {
	for _, c := range p.Cases {
		for _, process := range c.Processes {
			list = append(list, process.Stdout, process.Stderr)
		}
		for _, x := range c.Exchanges {
			list = append(list, x.Request, x.Response)
		}
		for _, block := range c.Blocks {
			for _, f := range block.Fields {
				list = append(list, f.Value)
			}
			for _, r := range block.Returns {
				for _, change := range r.Changes {
					list = append(list, change.Value)
				}
			}
		}
	}
	return slices.DeleteFunc(list, func(body *Body) bool { return body == nil })
}
