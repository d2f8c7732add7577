package check

// fixes says how to mend what one check finds, where the advice of its requirement is
// too general.
var fixes = map[string]string{
	"ERR-002/same-words":      "Remove from the history what was refused, an image or a tool for instance, and say so to the user; then the next turn works.",
	"ERR-003/whole-document":  "Treat a body that cannot be read to its end as a transport error, and retry; mark it as cut in the recording.",
	"ERR-003/provider-object": "Look at what answers in the provider's place: a gateway, a login page or the wrong URL.",
}
