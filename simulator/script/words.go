package script

import (
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/wires/tree"
)

// Agents put words of their own beside those of the user: reminders, the
// environment, project instructions. They stand in elements with a name.
var (
	// reminder is an element that may stand anywhere among the user's words.
	reminder = regexp.MustCompile(`(?s)<(system-reminder|system_reminder)>.*?</(system-reminder|system_reminder)>`)
	// opening begins a text that is one element from start to end.
	opening = regexp.MustCompile(`^<([A-Za-z][\w.:-]*)[^<>]*>`)
)

// userWords returns what the user said in a content, without what the agent added.
// A content that is nothing but additions has no words.
func userWords(content *tree.Node) string {
	if !content.Is(tree.Array) {
		return ownWords(content.Text())
	}
	var all []string
	for _, part := range ObjectsOf(content) {
		if s := ownWords(part.Get("text").Text()); s != "" && !part.Get("thought").True() {
			all = append(all, s)
		}
	}
	return strings.Join(all, "\n")
}

// ownWords returns a text without reminders, "" when it is one element.
func ownWords(text string) string {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "<") && !strings.Contains(text, "reminder>") {
		return text
	}
	text = strings.TrimSpace(reminder.ReplaceAllString(text, ""))
	if name := opening.FindStringSubmatch(text); name != nil && strings.HasSuffix(text, "</"+name[1]+">") {
		return ""
	}
	return text
}
