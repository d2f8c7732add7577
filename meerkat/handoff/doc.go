// Package handoff decides what of a conversation is sent to a provider.
//
// [Build] is a pure function of a [History], which holds the conversation, the
// ledger of its tool calls and its compactions, and of a [Target], which is a
// provider, API, model and account. It returns a [Transcript]: the messages to
// send, and one [Degradation] for each thing that the target cannot be given.
//
//	out, err := handoff.Build(history, target)
//	for _, d := range out.Degraded {
//		log.Printf("%s: %s", d.Rule, d.Reason) // "foreign-thinking: thinking of anthropic means nothing to gemini"
//	}
//
// [Rules] lists the rules in the order in which they apply, each with the name
// that degradations use. They follow five principles: a continuity token is
// sent only to its origin; what is sent back is unaltered; calls and results
// stay in pairs; leaving something out is better than imitating it; every loss
// is reported.
//
// The codecs render what Build decided. They refuse what is still broken and
// repair nothing.
package handoff
