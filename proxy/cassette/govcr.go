package cassette

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
)

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
		Request:  Request{Method: in.Request.Method, URL: in.Request.URL, Header: in.Request.Header, Body: in.Request.Body},
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
