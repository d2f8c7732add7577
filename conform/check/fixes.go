package check

// fixes says how to mend what one check finds, where the advice of its requirement is
// too general.
var fixes = map[string]string{
	"ERR-002/same-words":      "Remove from the history what was refused, an image or a tool for instance, and say so to the user; then the next turn works.",
	"ERR-003/whole-document":  "Treat a body that cannot be read to its end as a transport error, and retry; mark it as cut in the recording.",
	"PAR-008/names":           "Send a name of letters, digits, _ and -, and map it back when the tool is called.",
	"PAR-008/unique":          "Put the name of its server before the name of each tool.",
	"ORD-015/unicode":         "Write the body as UTF-8; where a text is cut, cut between whole characters, and replace bytes of a tool that are not UTF-8.",
	"ERR-003/provider-object": "Look at what answers in the provider's place: a gateway, a login page or the wrong URL.",
}
