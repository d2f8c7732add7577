package freetext

import (
	"bytes"
	"regexp"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// lineAt is [chosenAt] for a value that is the rest of a line, with what the lines beside it say: a
// line of a program has others of one around it.
func lineAt(text []byte, p pair, isTight bool) (value lex.Span, form chosenForm) {
	line, end := lineAround(text, p)
	if end < p.value.End || !settingBegin.Match(text[line.Start:p.name.Start]) {
		return p.value, noForm
	}
	value = lex.Between(p.value.Start, end)
	if n := bytes.Index(value.In(text), []byte(" #")); n > 0 {
		value.End = value.Start + n
	}
	lineBefore, lineAfter := lineBefore(text, line.Start), lineAfter(text, end)
	if hasMark(lineBefore) || hasMark(lineAfter) {
		return value, noForm // judged when these lines were as they came
	}
	before, after := kindOf(lineBefore), kindOf(lineAfter)
	switch isSpaced := bytes.IndexByte(value.In(text), ' ') >= 0; {
	case before == wordsLine || after == wordsLine:
		return value, lineForm
	case isTight && isSpaced: // no expression
		return value, settingForm
	case before == codeLine || after == codeLine:
		return value, noForm
	case before == settingLine || after == settingLine:
		return value, settingForm
	}
	return value, lineForm
}

func hasMark(line []byte) bool { return bytes.Contains(line, []byte(values.Mark)) }

// logBegin is what a line of a log begins with: the steps of the job and the time.
const logBegin = `(?:(?:[^\s\\]+(?:\\*t|\t))*\d{4}-\d\d-\d\dT[\d:.]+Z? )?`

// settingBegin matches what stands before the name of a setting in its line, the name of the file and the
// number of the line included.
var settingBegin = regexp.MustCompile(`^` + logBegin + `[ \t+-]*(?:\d+(?:\\+t|\t|→|: ?)|\S+(?:\\+t|\t))?[ \t-]*(?:export |set )?(?:[\w./-]+:(?:\d+[:-])?)*$`)

// lineAround returns the beginning of the line of a pair, and where the line ends after its value: at
// the end of the text around it at the latest.
func lineAround(text []byte, p pair) (line lex.Span, end int) {
	from := max(p.name.Start-maxLine, 0)
	start := from + lastLineEnd(text[from:p.name.Start])
	if n := bytes.LastIndexByte(text[start:p.name.Start], '"'); n >= 0 {
		start += n + 1
	}
	limit := min(len(text), p.value.Start+maxLine)
	end = p.value.Start + max(bytes.IndexAny(text[p.value.Start:limit], "\n\r\"\\"), 0)
	if end == p.value.Start {
		end = limit
	}
	if end < len(text) && text[end] != '"' && !isLineEnd(text, end) {
		return lex.Between(start, end), -1
	}
	line = lex.Between(start, end)
	for end > p.value.Start && text[end-1] == ' ' {
		end--
	}
	return line, end
}

// lineBefore returns the line before the one that begins at a place, nothing where the text begins.
func lineBefore(text []byte, start int) []byte {
	end := start
	switch {
	case start > 0 && text[start-1] == '\n':
		end--
	case bytes.HasSuffix(text[:start], []byte(`\n`)):
		end = len(bytes.TrimRight(text[:start-1], `\`))
	default:
		return nil
	}
	from := max(end-maxLine, 0)
	return textBegin.ReplaceAll(text[from+lastLineEnd(text[from:end]):end], nil)
}

// lineAfter returns the line after the one that ends at a place, nothing where the text ends.
func lineAfter(text []byte, end int) []byte {
	stop, next := lineEnd(text, end)
	if next == stop || bytes.IndexByte(text[end:stop], '"') >= 0 {
		return nil
	}
	stop, _ = lineEnd(text, next)
	return textEnd.ReplaceAll(text[next:min(stop, next+maxLine)], nil)
}

// lineKind is what a line is that stands beside a setting.
type lineKind uint8

const (
	emptyLine   lineKind = iota // also a comment, the head of a section, and what is not known
	settingLine                 // a name and one word, or a pass phrase
	wordsLine                   // a name and several words: of a form, or of translations
	codeLine                    // of a program
)

var (
	settingForms = regexp.MustCompile(`^` + logBegin + `[ \t\d→+-]*(?:export )?(?:[\w.-]+(?:: +|\s?[=:]\s?)|[a-z_-]+ )(?:[^\s"']+|"[^"]*"|'[^']*')\s*$`)
	wordsForm    = regexp.MustCompile(`^[ \t\d→+-]*[\w.-]+\s?[:=]\s?["']?\pL\S* \pL`)
	// textBegin and textEnd match the JSON around a text in its first and its last line.
	textBegin = regexp.MustCompile(`^.*\\*"\s?[:,]\s?\[?\\*"|^\[?\\*"`)
	textEnd   = regexp.MustCompile(`\\*"\s?(?:[}\]]|,\s?\\*"|$).*$`)
	// codeSigns matches what only programs have.
	codeSigns = regexp.MustCompile(`[;,({]$|^\s*[})]|\w\([^)]*\)|=>|\b(?:return|const|let|var|val|func|def|import|self|this|public|private)\b`)
)

// kindOf says what a line is.
func kindOf(line []byte) lineKind {
	line = bytes.TrimRight(bytes.ReplaceAll(line, []byte(`\`), nil), " \r")
	switch {
	case len(line) == 0 || bytes.IndexByte([]byte("#;!"), line[0]) >= 0:
		return emptyLine
	case codeSigns.Match(line):
		return codeLine
	case settingForms.Match(line):
		return settingLine
	case isPhraseLine(line):
		return settingLine
	case wordsForm.Match(line):
		return wordsLine
	}
	return emptyLine
}

// isPhraseLine reports whether a line sets a password to words with spaces between them.
func isPhraseLine(line []byte) bool {
	m := phraseForm.FindSubmatch(line)
	return m != nil && names.IsPassword(m[1]) && values.WordingOf(string(m[2])) >= values.SpacedNumber
}

var phraseForm = regexp.MustCompile(`^[ \t\d→+-]*([\w.-]+)\s?[:=]\s?["']?([^"']+ [^"']+)["']?$`)
