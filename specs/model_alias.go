package specs

import (
	"regexp"
	"slices"
	"strings"
)

// movedModels are names for which a provider answers as another model, though the names do not
// show it.
var movedModels = map[string]string{
	"gpt-5.6":              "gpt-5.6-sol",            // recorded, 25 times in 2026
	"gemini-3-pro-preview": "gemini-3.1-pro-preview", // recorded; https://ai.google.dev/gemini-api/docs/deprecations (2026-03-09)
	"gpt-4-turbo-preview":  "gpt-4-0125-preview",     // https://platform.openai.com/docs/models/gpt-4-turbo (2024-01-25)
}

// modelStage is what stands behind a name and changes while the model stays: dates as OpenAI
// and Google write them, and that it is a preview.
var modelStage = regexp.MustCompile(`(-preview|-exp|-\d{4}|-\d\d-\d\d|-\d\d-\d{4})+$`)

// IsServedAs reports whether a provider that was asked for one model may name the other in its
// reply: a snapshot of it, the same with or without models/ or a region before it, the release
// of a preview, and what latest means today.
func IsServedAs(asked, answered string) bool {
	was, is := modelWords(asked), modelWords(answered)
	switch moved := movedModels[ParseModel(asked).Bare]; {
	case slices.Equal(was, is), moved != "" && slices.Equal(modelWords(moved), is):
		return true
	case ParseModel(asked).HasVersion():
		return false
	}
	isNumber := func(word string) bool { return strings.Trim(word, "0123456789") == "" }
	return slices.Equal(was, slices.DeleteFunc(is, isNumber))
}

// modelWords are the words and numbers of a name, without a zero and what is not the model's, in
// lexical order: gateways write claude-4.5-sonnet for claude-sonnet-4-5.
func modelWords(name string) []string {
	name, _, _ = strings.Cut(strings.ToLower(name), "[")
	bare, _, _ := strings.Cut(ParseModel(name).Bare, ":")
	words := strings.FieldsFunc(modelStage.ReplaceAllString(bare, ""), func(r rune) bool { return strings.ContainsRune("-._@", r) })
	words = slices.DeleteFunc(words, func(word string) bool { return word == "0" })
	slices.Sort(words)
	return words
}
