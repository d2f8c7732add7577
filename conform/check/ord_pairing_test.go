package check_test

import "testing"

func TestPairing(t *testing.T) {
	const call = `u"A." c:call_1:read{"p":"a"} `
	for _, provider := range []string{"anthropic", "openai"} {
		testPairs(t, []checkPair{
			{"ORD-001/answered", provider, `0: ` + call + `u"Go on." -> a"Done."`, `0: ` + call + `r:call_1:read"x" u"Go on." -> a"Done."`},
			{"ORD-005/unique-calls", provider, `0: ` + call + `c:call_1:read{"p":"b"} r:call_1:read"x" -> a"Done."`,
				`0: ` + call + `c:call_2:read{"p":"b"} r:call_1:read"x" r:call_2:read"y" -> a"Done."`},
		})
	}
}
