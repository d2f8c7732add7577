package freetext

import (
	"bytes"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

const maxRows = 1000

// lookAtTable looks at the cells below a name in the first line of a table, and reports
// whether there is one.
func (w *search) lookAtTable(name lex.Span) bool {
	if name.Start < w.tableEnd || strings.IndexByte(":=(>", w.text[name.End]) >= 0 {
		return false
	}
	separator := separatorBeside(w.text, name)
	if separator == 0 {
		return false
	}
	header, ok := w.headerAround(name, separator)
	if !ok {
		return false
	}
	_, next := lineEnd(w.text, header.End)
	if separator == '|' {
		rule, after := lineEnd(w.text, next)
		if !isRule(w.text[next:rule]) {
			return false
		}
		next = after
	}
	columns := w.secretColumns(header, separator)
	if columns == nil {
		return false
	}
	found := len(w.found)
	for range maxRows {
		end, after := lineEnd(w.text, next)
		if !w.lookAtRow(lex.Between(next, end), separator, columns) || after == end {
			break
		}
		w.tableEnd, next = end, after
	}
	return len(w.found) > found
}

// separatorBeside returns what separates a name from the next cell or from the last one, 0 if
// nothing does.
func separatorBeside(text []byte, name lex.Span) byte {
	at := lex.Past(text, name.End, "\"`* ", 40)
	switch {
	case at == len(text), text[at] == ',' && at+1 < len(text) && text[at+1] == ' ': // of a sentence or a program
		return 0
	case strings.IndexByte("|,;\t", text[at]) >= 0:
		return text[at]
	case pastTab(text, at) > at:
		return '\t'
	case !isLineEnd(text, at):
		return 0
	}
	for at = name.Start; at > 0 && strings.IndexByte("\"\\`* ", text[at-1]) >= 0; {
		at--
	}
	switch {
	case at > 0 && strings.IndexByte("|,;\t", text[at-1]) >= 0:
		return text[at-1]
	case at > 1 && text[at-1] == 't' && text[at-2] == '\\':
		return '\t'
	}
	return 0
}

// headerAround returns the line of a name, if all in it could be names.
func (w *search) headerAround(name lex.Span, separator byte) (line lex.Span, ok bool) {
	text := w.text
	line = name
	for line.Start > 0 && name.Start-line.Start < maxLine && isHeaderByte(text[line.Start-1], separator) {
		if text[line.Start-1] == 'n' && line.Start > 1 && text[line.Start-2] == '\\' {
			break
		}
		line.Start--
	}
	if separator != '|' { // a quotation mark may begin the text
		for line.Start < name.Start && strings.IndexByte("\"\\ ", text[line.Start]) >= 0 {
			line.Start++
		}
	}
	for line.End < len(text) && line.End-line.Start < maxLine && isHeaderByte(text[line.End], separator) && (text[line.End] != '\\' || !isLineEnd(text, line.End)) {
		line.End++
	}
	w.tableEnd = line.End
	return line, line.End < len(text) && isLineEnd(text, line.End)
}

// isHeaderByte reports whether a byte may stand in the line with the names of a table.
func isHeaderByte(c, separator byte) bool {
	return lex.IsNameByte(c) || c == separator || c == ' ' || c >= 0x80 || c == '"' || c == '\\' || strings.IndexByte("/()#*`:?%", c) >= 0 && separator == '|'
}

// secretColumns says which columns hold credentials, and how sure their values are; nil if none.
func (w *search) secretColumns(header lex.Span, separator byte) (columns []values.Place) {
	found := false
	for _, cell := range cells(w.text, header, separator) {
		p := values.AnyPlace
		if name := cell.In(w.text); len(name) > 0 && len(name) <= names.MaxLength && w.names.Class(name) == names.Strong {
			p, found = values.KeyPlace, true
			if names.IsChosen(name) {
				p = values.LiteralPlace
			}
		}
		columns = append(columns, p)
	}
	if !found || len(columns) < 2 {
		return nil
	}
	return columns
}

// lookAtRow looks at the cells of a row and reports whether it is one of the table.
func (w *search) lookAtRow(row lex.Span, separator byte, columns []values.Place) bool {
	if n := bytes.IndexByte(row.In(w.text), '"'); n > 0 && separator != '|' && strings.IndexByte("\\\"", w.text[row.Start]) < 0 {
		row.End = row.Start + n // of the JSON around the table
	}
	list := cells(w.text, row, separator)
	if separator == '|' && isRule(row.In(w.text)) {
		return true
	}
	if len(list) < 2 {
		return false
	}
	if len(list) < len(columns) && separator != '|' { // the words of a program stand before the first name
		columns = columns[len(columns)-len(list):]
	}
	for i, cell := range list {
		if i >= len(columns) || columns[i] == values.AnyPlace {
			continue
		}
		if n := bytes.IndexAny(cell.In(w.text), "\"\\"); n >= 0 {
			cell.End = cell.Start + n // of the JSON around the table
		}
		w.addIfSecret(lex.Span{}, cell, columns[i])
	}
	return true
}

// cells splits a line, without what encloses a cell.
func cells(text []byte, line lex.Span, separator byte) (out []lex.Span) {
	for at := line.Start; at <= line.End; {
		cell, next := lex.Between(at, line.End), line.End+1
		for i := at; i < line.End; i++ {
			n := i
			if text[i] == separator {
				n++
			} else if separator == '\t' && text[i] == '\\' {
				n = pastTab(text, i)
			}
			if n > i {
				cell.End, next = i, n
				break
			}
		}
		for cell.Start < cell.End && strings.IndexByte(" \"'`*\\\r", text[cell.Start]) >= 0 {
			cell.Start++
		}
		for cell.End > cell.Start && strings.IndexByte(" \"'`*\\\r", text[cell.End-1]) >= 0 {
			cell.End--
		}
		out = append(out, cell)
		at = next
	}
	return out
}

// isRule reports whether a line is the one between the names and the rows of a table.
func isRule(line []byte) bool {
	return len(line) >= 3 && bytes.Contains(line, []byte("--")) && len(bytes.Trim(line, "-+|: \r")) == 0
}
