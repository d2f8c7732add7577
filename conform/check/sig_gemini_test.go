package check_test

import "testing"

func TestThoughtSignatures(t *testing.T) {
	const first = "0: u\"A.\" -> c:call_1:read{\"p\":\"a\"}#c2lnMDAx\n"
	const rest = ` r:call_1:read"x" -> a"Done."`
	const legal = first + `1: ..0` + rest
	testPairs(t, []checkPair{
		{"SIG-015/signature-bytes", "gemini", first + `1: u"A." c:call_1:read{"p":"a"}#c2lnMDAy` + rest, legal},
		{"SIG-019/own-model", "gemini", first + `1 model=other-1: ..0` + rest, legal},
	})
}
