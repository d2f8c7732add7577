package gate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// TestPassedTexts holds that what a gate remembers of a text hides no secret: not one learnt later,
// not one beside the text or in another one.
func TestPassedTexts(t *testing.T) {
	const secret = "Zr9Wm4Xk1Vb8Nc5J7Hq2"
	long := strings.Repeat("The river runs through a wide valley. ", 300)
	body := func(texts ...string) cassette.Interaction {
		return cassette.Interaction{Request: cassette.Request{Body: fmt.Appendf(nil, `{"messages":["%s"]}`,
			strings.Join(texts, `","`))}}
	}
	middle := long[:5000] + secret + long[5000:]
	g := New()
	if err := g.Check(body(long, middle)); err != nil {
		t.Fatal(err)
	}
	if len(g.searched.passed) != 2 {
		t.Fatalf("%d texts are remembered instead of 2", len(g.searched.passed))
	}
	if short, _ := g.searched.shorten(body(long, middle).Request.Body); len(short) > 5000 {
		t.Errorf("%d bytes are searched again", len(short))
	}
	const key = "sk-ant-api03-Zk3v9Qm2Lx7Rt4Vw1Zp6Kc8Hq5Nb0Yd-Zk3v9Qm2Lx7Rt4Vw1Zp6Kc8Hq5Nb0Yd"
	for _, beside := range []cassette.Interaction{body(long, key, middle), body(long+key, middle),
		body(key+long, middle)} {
		if g.Check(beside) == nil {
			t.Errorf("a key beside a text that passed is not found: %s", beside.Request.Body[:100])
		}
	}
	g.Learn(secret)
	if g.Check(body(long, middle)) == nil {
		t.Error("a secret that was learnt later is not found in a text that passed before")
	}
}
