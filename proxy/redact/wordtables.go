package redact

import (
	"bytes"
	"strings"
)

const (
	maxLine = 512      // the length of the longest first line of a table, in bytes
	maxRow  = 16 << 10 // … of another one
	maxRows = 1000
)

// lineEnd returns where the line of a place ends and where the next one begins; both are the
// end of the text if there is none. The text may be escaped.
func lineEnd(text []byte, at int) (end, next int) {
	limit := min(len(text), at+maxRow)
	for i := at; i < limit; i++ {
		n := bytes.IndexAny(text[i:limit], "\n\\")
		if n < 0 {
			break
		}
		if i += n; text[i] == '\n' {
			return i, i + 1
		}
		end, after := i, pastAny(text, i, "\\", 8)
		if after < limit && text[after] == 'r' {
			after = pastAny(text, after+1, "\\", 8)
		}
		if after < limit && text[after] == 'n' {
			return end, after + 1
		}
		i = max(i, after-1)
	}
	return limit, limit
}

// isLineEnd reports whether a line ends at a place.
func isLineEnd(text []byte, at int) bool {
	if text[at] == '\n' || text[at] == '\r' {
		return true
	}
	after := pastAny(text, at, "\\", 8)
	return after > at && after < len(text) && (text[after] == 'n' || text[after] == 'r')
}

// lastLineEnd returns where the last line of a text begins.
func lastLineEnd(text []byte) int {
	at := bytes.LastIndexByte(text, '\n') + 1
	if n := bytes.LastIndex(text, []byte(`\n`)); n >= 0 {
		at = max(at, n+len(`\n`))
	}
	return at
}

// lookAtTable looks at the cells below a name in the first line of a table, and reports
// whether there is one.
func (w *wordSearch) lookAtTable(name span) bool {
	if name.start < w.tableEnd || strings.IndexByte(":=(>", w.text[name.end]) >= 0 {
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
	_, next := lineEnd(w.text, header.end)
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
		if !w.lookAtRow(span{next, end}, separator, columns) || after == end {
			break
		}
		w.tableEnd, next = end, after
	}
	return len(w.found) > found
}

// separatorBeside returns what separates a name from the next cell or from the last one, 0 if
// nothing does.
func separatorBeside(text []byte, name span) byte {
	at := pastAny(text, name.end, "\"`* ", 40)
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
	for at = name.start; at > 0 && strings.IndexByte("\"\\`* ", text[at-1]) >= 0; {
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
func (w *wordSearch) headerAround(name span, separator byte) (line span, ok bool) {
	text := w.text
	line = name
	for line.start > 0 && name.start-line.start < maxLine && isHeaderByte(text[line.start-1], separator) {
		if text[line.start-1] == 'n' && line.start > 1 && text[line.start-2] == '\\' {
			break
		}
		line.start--
	}
	if separator != '|' { // a quotation mark may begin the text
		for line.start < name.start && strings.IndexByte("\"\\ ", text[line.start]) >= 0 {
			line.start++
		}
	}
	for line.end < len(text) && line.end-line.start < maxLine && isHeaderByte(text[line.end], separator) && (text[line.end] != '\\' || !isLineEnd(text, line.end)) {
		line.end++
	}
	w.tableEnd = line.end
	return line, line.end < len(text) && isLineEnd(text, line.end)
}

func isHeaderByte(c, separator byte) bool {
	return isNameByte(c) || c == separator || c == ' ' || c >= 0x80 || c == '"' || c == '\\' || strings.IndexByte("/()#*`:?%", c) >= 0 && separator == '|'
}

// secretColumns says which columns hold credentials, and how sure their values are; nil if none.
func (w *wordSearch) secretColumns(header span, separator byte) (columns []place) {
	found := false
	for _, cell := range cells(w.text, header, separator) {
		p := anyPlace
		if name := cell.bytesIn(w.text); len(name) > 0 && len(name) <= maxName && w.names.class(name) == strongName {
			p, found = keyPlace, true
			if isChosen(name) {
				p = literalPlace
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
func (w *wordSearch) lookAtRow(row span, separator byte, columns []place) bool {
	if n := bytes.IndexByte(row.bytesIn(w.text), '"'); n > 0 && separator != '|' && strings.IndexByte("\\\"", w.text[row.start]) < 0 {
		row.end = row.start + n // of the JSON around the table
	}
	list := cells(w.text, row, separator)
	if separator == '|' && isRule(row.bytesIn(w.text)) {
		return true
	}
	if len(list) < 2 {
		return false
	}
	if len(list) < len(columns) && separator != '|' { // the words of a program stand before the first name
		columns = columns[len(columns)-len(list):]
	}
	for i, cell := range list {
		if i >= len(columns) || columns[i] == anyPlace {
			continue
		}
		if n := bytes.IndexAny(cell.bytesIn(w.text), "\"\\"); n >= 0 {
			cell.end = cell.start + n // of the JSON around the table
		}
		w.addIfSecret(span{}, cell, columns[i])
	}
	return true
}

// cells splits a line, without what encloses a cell.
func cells(text []byte, line span, separator byte) (out []span) {
	for at := line.start; at <= line.end; {
		cell, next := span{at, line.end}, line.end+1
		for i := at; i < line.end; i++ {
			n := i
			if text[i] == separator {
				n++
			} else if separator == '\t' && text[i] == '\\' {
				n = pastTab(text, i)
			}
			if n > i {
				cell.end, next = i, n
				break
			}
		}
		for cell.start < cell.end && strings.IndexByte(" \"'`*\\\r", text[cell.start]) >= 0 {
			cell.start++
		}
		for cell.end > cell.start && strings.IndexByte(" \"'`*\\\r", text[cell.end-1]) >= 0 {
			cell.end--
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
