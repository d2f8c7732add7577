package cassette

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
)

// Edited is what [Reseal] found and did.
type Edited struct {
	// Changes names what is not as it was sealed, one phrase each: "interaction 3 was changed". It is
	// empty when the file is as it was; then it is not written.
	Changes []string
	// Interactions is how many the file holds.
	Interactions int
}

// Reseal seals a cassette again that somebody edited by hand. Each interaction is written as a recorder
// writes it. An interaction that differs from its seal gets the provenance "edited", because no provider
// gave that answer. If the seal of interaction 0 is broken, the head may have been edited, so all
// interactions get it. If the length of a body changed, the last chunks of its timeline and its
// Content-Length are corrected.
//
// check is called for each interaction before anything is written. Its error is returned, and the file
// stays as it is. The other errors are ErrTorn for a file without its last line, ErrFormat for a file that
// cannot be read as a cassette of this package, and ErrBusy. The whole file is in memory.
func Reseal(path string, check func(i int, in Interaction) error) (Edited, error) {
	if err := checkRegularFile(path); err != nil {
		return Edited{}, err
	}
	if err := unlessBusy(path); err != nil {
		return Edited{}, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Edited{}, readError(path, err)
	}
	if !isOurs(data) {
		return Edited{}, newError(path, ErrFormat,
			"was not written by this recorder; convert it with: recorder import %s --cassette NEW", path)
	}
	meta, length, err := parseHead(path, data)
	if err != nil {
		return Edited{}, err
	}
	items, end, err := editedItems(path, data[:length], data[length:])
	if err != nil {
		return Edited{}, err
	}
	isHeadKnown := slices.ContainsFunc(items, func(e editedItem) bool { return e.number == 0 && e.isSealed })
	out := Edited{Interactions: len(items), Changes: removedItems(items, end.count)}
	ins := make([]Interaction, len(items))
	for i, item := range items {
		if what := item.describeChange(i); what != "" {
			out.Changes = append(out.Changes, what)
		}
		if ins[i], err = item.readFitted(); err != nil {
			return out, newError(path, ErrFormat,
				"line %d: interaction %d cannot be read (%v); correct it and seal again", item.line, i, firstLine(err))
		}
		if ins[i].Provenance == "" && (!isHeadKnown || !item.isSealed) {
			ins[i].Provenance = provenanceEdited
		}
		if err := check(i, ins[i]); err != nil {
			return out, err
		}
	}
	if len(out.Changes) == 0 {
		_, err := Open(path) // the closing line is checked there
		return out, err
	}
	w, err := Create(path, meta, CreateOptions{Force: true})
	if err != nil {
		return out, err
	}
	w.Lose(end.Loss)
	for _, err := range w.AppendAll(ins) {
		if err != nil {
			_ = w.Discard()
			return out, err
		}
	}
	return out, w.Close()
}

// provenanceEdited is the provenance of an interaction that is not as it was recorded.
const provenanceEdited = "edited"

// editedItem is an item of a file that somebody may have edited.
type editedItem struct {
	text     []byte
	line     int  // where it begins, from 1
	number   int  // in its seal line, -1 without one
	length   int  // … in bytes
	isSealed bool // it is what that seal says
	isBehind bool // the seal before it, which that seal includes, is there
}

// editedItems splits what follows the head into items. An item ends with its seal line, or where the next
// one begins.
func editedItems(name string, head, rest []byte) (items []editedItem, end closing, err error) {
	last, lastNumber := seal(sha256.Sum256(head)), -1
	item := editedItem{number: -1}
	add := func() {
		if len(item.text) > 0 {
			items = append(items, item)
		}
		item = editedItem{number: -1}
	}
	lineNumber := bytes.Count(head, []byte("\n"))
	for line := range bytes.Lines(rest) {
		lineNumber++
		switch {
		case bytes.HasPrefix(line, []byte(sealPrefix)):
			n, length, s, ok := readSeal(line)
			if ok {
				item.number, item.length, item.isBehind = n, length, n == lastNumber+1
				item.isSealed = item.isBehind && s == last.nextSeal(item.text)
				last, lastNumber = s, n // of the file as it was
			}
			add()
			continue
		case bytes.HasPrefix(line, []byte(closePrefix)):
			add()
			end, _, ok := readClose(line)
			if !ok {
				return nil, end, newError(name, ErrTorn,
					"line %d: its closing line cannot be read; restore that line from a copy", lineNumber)
			}
			return items, end, nil
		case string(line) == itemStart:
			add()
			item.line = lineNumber
		}
		item.text = append(item.text, line...)
	}
	return nil, end, tornError(name)
}

// removedItems names the interactions of which there is no seal any more.
func removedItems(items []editedItem, count int) (removed []string) {
	isThere := map[int]bool{}
	for _, item := range items {
		isThere[item.number] = true
	}
	for n := range count {
		if !isThere[n] {
			removed = append(removed,
				fmt.Sprintf("interaction %d of the old file has no seal any more: it was removed or joined with another", n))
		}
	}
	return removed
}

// describeChange says in which way an item is not as it was sealed, "" when it is. Its new number is i.
func (e editedItem) describeChange(i int) string {
	switch {
	case e.number < 0:
		return fmt.Sprintf("interaction %d is new", i)
	case e.isSealed:
		return ""
	case !e.isBehind && e.length == len(e.text):
		return fmt.Sprintf("interaction %d was interaction %d; whether its text changed cannot be told without the one before it", i, e.number)
	case e.number == 0:
		return fmt.Sprintf("the head or interaction %d was changed (%d bytes before, %d now)", i, e.length, len(e.text))
	}
	return fmt.Sprintf("interaction %d was changed (%d bytes before, %d now)", i, e.length, len(e.text))
}

// readFitted decodes an item and fits what says how long its bodies are.
func (e editedItem) readFitted() (Interaction, error) {
	in, err := readItem(e.text)
	if err != nil {
		return in, err
	}
	if h := in.Request.Header; !e.isSealed {
		chunks, err := decodeTimeline(h.Get(hdrTimeline))
		if err == nil && len(chunks) > 0 {
			h[hdrTimeline] = []string{encodeTimeline(fitTimeline(chunks, len(in.Response.Body)))}
		}
		if drained, err := strconv.Atoi(h.Get(hdrDrained)); err == nil && drained > len(in.Response.Body) {
			h[hdrDrained] = []string{strconv.Itoa(len(in.Response.Body))}
		}
		if h.Get(hdrReqEncoded) == "" {
			fitLength(h, len(in.Request.Body))
		}
		if h.Get(hdrRespEncoded) == "" && in.Request.Method != http.MethodHead {
			fitLength(in.Response.Header, len(in.Response.Body))
		}
	}
	return in, takeReserved(&in)
}

// fitTimeline makes the chunks cover a body: its end is cut off the last chunks or added to the last one.
func fitTimeline(chunks []Chunk, body int) []Chunk {
	sum := 0
	for i, c := range chunks {
		if sum+c.Length >= body {
			chunks[i].Length = body - sum
			return chunks[:i+1]
		}
		sum += c.Length
	}
	chunks[len(chunks)-1].Length += body - sum
	return chunks
}

// fitLength corrects a Content-Length that is there.
func fitLength(h http.Header, body int) {
	if _, err := strconv.Atoi(h.Get("Content-Length")); err == nil {
		h["Content-Length"] = []string{strconv.Itoa(body)}
	}
}
