package harness

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

// MaxLine bounds a line of the agent in a message, in bytes.
const MaxLine = 300

// TellingLine is the last line of what an agent wrote that speaks of an error, else the
// last one that says something, for people to read.
func TellingLine(text string) (last string) {
	for line := range strings.Lines(text) {
		if line = PrintableLine(line, MaxLine); !strings.ContainsFunc(line, unicode.IsLetter) || noise.MatchString(line) {
			continue
		}
		if speaksOfError(line) || !speaksOfError(last) {
			last = line
		}
	}
	return last
}

func speaksOfError(line string) bool {
	return errorWords.MatchString(line) && !goesOn.MatchString(line)
}

// said is ": " and the telling line of what a process wrote, or "".
func said(stderr []byte) string {
	line := TellingLine(string(stderr))
	if line == "" {
		return ""
	}
	return ": " + line
}

var (
	errorWords = regexp.MustCompile(`(?i)\b[a-z]*(error|exception)\b|\b(failed|cannot|could not|must|required|invalid|deprecated|unsupported|refused|denied)\b|^[45]\d\d `)
	// goesOn matches lines whose words stand in the next ones.
	goesOn = regexp.MustCompile(`[\[{(:]$`)
	// noise matches lines of a trace that say nothing about its cause.
	noise = regexp.MustCompile(`^(Node\.js v[0-9.]+|at .*|\[Symbol\(.*)$`)
)

// PrintableLine is a line without keys and without what would steer a terminal, cut to a
// number of bytes.
func PrintableLine(line string, most int) string {
	// A key that is cut in two is not recognised: the first cut is far behind the second.
	line = gate.Mask(line[:min(len(line), 20*most)])
	line = escapeSequence.ReplaceAllString(line, "")
	line = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) { // nor what has no width, or turns the direction of writing
			return ' '
		}
		return r
	}, strings.ToValidUTF8(line, "?"))
	line = strings.TrimSpace(line)
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}

// escapeSequence finds what colours text in a terminal.
var escapeSequence = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")
