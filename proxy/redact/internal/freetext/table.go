package freetext

import (
	"bytes"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// tableRule finds what stands in a column of a table under the name of a credential.
var tableRule = &rule{ID: "table", Place: "literal",
	Example: "| user | password |\n|---|---|\n| kim | ‹V1olet-Moose› |"}

// lookAtTable looks at the cells of a column, whose name stands in the first line of a table as Markdown
// writes it, and reports whether there is a credential:
//
//	| host | user | password |
//	|------|------|----------|
//	| db1  | root | …        |
func (p *place) lookAtTable() (isFound bool) {
	text := bytes.TrimLeft(p.w.text[p.name.End:min(p.name.End+maxTitle, len(p.w.text))], " `*")
	title := bytes.TrimRight(p.w.text[max(p.name.Start-maxTitle, 0):p.name.Start], " `*")
	if !bytes.HasPrefix(text, []byte("|")) && !bytes.HasSuffix(title, []byte("|")) {
		return false
	}
	before := p.beforeIt().text
	before = before[bytes.LastIndexByte(before, '\n')+1:]
	before = before[bytes.LastIndexByte(before, '"')+1:]
	column := bytes.Count(before, []byte("|"))
	var after part
	after.read(p.w.text, lex.Between(p.name.End, min(p.name.End+maxTable, len(p.w.text))))
	at := lex.IndexOrLength(after.text, '\n')
	if column == 0 && bytes.IndexByte(after.text[:at], '|') < 0 {
		return false
	}
	for n := 0; at < len(after.text); n++ {
		line := lex.Between(at+1, at+1+lex.IndexOrLength(after.text[at+1:], '\n'))
		if isRule := len(bytes.Trim(line.In(after.text), "-+|: \r")) == 0; isRule != (n == 0) {
			break
		}
		if cell := cellOf(after.text, line, column); n > 0 && cell.End > cell.Start {
			isFound = p.add(tableRule, &after, cell) || isFound
		}
		at = line.End
	}
	return isFound
}

const (
	maxTitle = 32      // bytes beside the name of a column
	maxTable = 4 << 10 // … of a table that are looked at
)

// cellOf returns a cell of a line, without what encloses it.
func cellOf(text []byte, line lex.Span, column int) lex.Span {
	for range column {
		n := bytes.IndexByte(line.In(text), '|')
		if n < 0 {
			return lex.Span{}
		}
		line.Start += n + 1
	}
	line.End = line.Start + lex.IndexOrLength(line.In(text), '|')
	line.End = line.Start + lex.IndexOrLength(line.In(text), '"') // of the JSON around the table
	for line.Start < line.End && bytes.IndexByte([]byte(" `*'"), text[line.Start]) >= 0 {
		line.Start++
	}
	for line.End > line.Start && bytes.IndexByte([]byte(" `*'\r"), text[line.End-1]) >= 0 {
		line.End--
	}
	return line
}
