// Package questions judges a server that claims to speak a wire: it asks the questions of specs/server and
// judges each answer by what the question expects and by the reply rules of the wire:
//
//	found, err := questions.Judge(ctx, questions.Config{Wire: wires.Find("anthropic"), Base: url, Model: model})
//	for _, r := range found.Results { ... }
//
// A model is asked for plumbing only. What a model did not do of itself is not seen and no failure.
package questions
