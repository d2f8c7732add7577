package mutant

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
)

// geminiMutants disturb thought signatures.
var geminiMutants = []Mutant{
	{"drop-call-signature", "loses the signature of a call", []string{"SIG-014"}, changeRequest(signedCall(func(e *editor, i int, it *wire.Item) bool {
		return i >= e.turnStart() && strings.HasPrefix(e.req.Model, "gemini-3") && dropMember(it.Node, "thoughtSignature", "thought_signature")
	}), evidence.Gemini)},
	{"trim-thought-signature", "loses bytes of a signature", []string{"SIG-015"}, changeRequest(signedCall(func(_ *editor, _ int, it *wire.Item) bool {
		return len(it.Token) > 12 && rewriteMember(it.Node, func(s string) string { return s[:8] + s[12:] }, "thoughtSignature", "thought_signature")
	}), evidence.Gemini)},
	{"break-base64", "writes a signature that is not base64", []string{"SIG-015"}, changeRequest(signedCall(func(_ *editor, _ int, it *wire.Item) bool {
		return rewriteMember(it.Node, func(s string) string { return "%" + s }, "thoughtSignature", "thought_signature")
	}), evidence.Gemini)},
	{"signature-to-response", "moves the signature of a call to its response", []string{"SIG-016"}, changeRequest(signedCall(signatureToResponse), evidence.Gemini)},
	{"signature-inside-call", "puts the signature into the call", []string{"SIG-016"}, changeRequest(signedCall(func(_ *editor, _ int, it *wire.Item) bool {
		return setMember(ownFields(it), "thoughtSignature", jsonString(it.Token)) && dropMember(it.Node, "thoughtSignature", "thought_signature")
	}), evidence.Gemini)},
	{"drop-signed-text", "leaves out a signed text part", []string{"SIG-017"}, changeRequest(signedText(func(e *editor, it *wire.Item) bool {
		list, _ := e.arrayIndex(it)
		return list != nil && len(list.Items()) > 1 && e.removeItem(it)
	}), evidence.Gemini)},
	{"drop-text-signature", "joins a signed text with what stands before it", []string{"SIG-017"}, changeRequest(signedText(func(_ *editor, it *wire.Item) bool {
		return it.Text != "" && dropMember(it.Node, "thoughtSignature", "thought_signature")
	}), evidence.Gemini)},
	{"stand-in-beside-call", "puts the stand-in for a signature on a part beside a signed call", []string{"SIG-017"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(i int, it *wire.Item) bool {
			isBeside := slices.ContainsFunc([]int{i - 1, i + 1}, func(k int) bool {
				return k >= 0 && k < len(e.req.Items) && e.req.Items[k].Msg == it.Msg && e.req.Items[k].What == wire.Call && e.req.Items[k].Token != ""
			})
			return isBeside && it.Token == "" && it.What != wire.Thinking && setMember(it.Node, "thoughtSignature", jsonString("skip_thought_signature_validator"))
		})
	}, evidence.Gemini)},
}

func signedCall(change func(e *editor, i int, it *wire.Item) bool) func(*editor) bool {
	return func(e *editor) bool {
		return e.eachItem(func(i int, it *wire.Item) bool {
			return it.What == wire.Call && e.emitted["token"+wire.TokenKey(evidence.Gemini, it.Token)] && change(e, i, it)
		})
	}
}

func signedText(change func(e *editor, it *wire.Item) bool) func(*editor) bool {
	return func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return it.What == wire.Text && it.Model() && it.Token != "" && e.emitted["token"+wire.TokenKey(evidence.Gemini, it.Token)] && change(e, it)
		})
	}
}

func signatureToResponse(e *editor, i int, it *wire.Item) bool {
	for k := i + 1; k < len(e.req.Items); k++ {
		res := &e.req.Items[k]
		if res.What == wire.Result && res.Name == it.Name {
			return setMember(res.Node, "thoughtSignature", jsonString(it.Token)) && dropMember(it.Node, "thoughtSignature", "thought_signature")
		}
	}
	return false
}
