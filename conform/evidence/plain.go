package evidence

import (
	"regexp"
	"strconv"

	"golang.org/x/text/unicode/norm"
)

// typographic finds the quotes, dashes and ellipses that writers of parsed_body replace, as
// they are and as JSON escapes, what NFKC would make a quote or a backslash of, and escaped
// backslashes, behind which no escape begins.
var typographic = regexp.MustCompile(`\\\\|\\u20(?:1[3489cCdD]|26)|[\x{2013}\x{2014}\x{2018}\x{2019}\x{201C}\x{201D}\x{2026}\x{FF02}\x{FF3C}\x{FE68}]`)

var plainSpelling = map[string]string{
	"\u2013": "-", "\u2014": "--", "\u2018": "'", "\u2019": "'", "\u201c": `\"`, "\u201d": `\"`, "\u2026": "...",
	"\uff02": `\"`, "\uff3c": `\\`, "\ufe68": `\\`,
}

// plainBody spells a JSON body, or events of JSON, as the serialiser of pydantic-ai does that
// writes parsed_body. It respells one side of an exchange and not the other, so that the
// same text would look edited by the client.
func plainBody(body []byte) []byte {
	if body == nil {
		return nil
	}
	body = typographic.ReplaceAllFunc(body, func(found []byte) []byte {
		mark := string(found)
		if mark == `\\` {
			return found
		}
		if found[0] == '\\' {
			code, _ := strconv.ParseUint(mark[2:], 16, 32)
			mark = string(rune(code))
		}
		return []byte(plainSpelling[mark])
	})
	return norm.NFKC.Bytes(body)
}
