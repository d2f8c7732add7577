package oracle

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/meerkat-go/conformance/meerkat/provider/codec/anthropic"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/gemini"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/openai"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// judges pairs each provider's SDK with our parser.
var judges = map[string]struct {
	sdk  func([]byte) ([]Block, error)
	ours func(stream.Options) stream.Parser
}{
	"anthropic": {Anthropic, anthropic.Codec{}.NewParser},
	"openai":    {OpenAI, openai.Codec{}.NewParser},
	"gemini":    {Gemini, gemini.Codec{}.NewParser},
}

// TestJudges holds every streamed reply of the corpus against the SDKs.
func TestJudges(t *testing.T) {
	for provider, j := range judges {
		t.Run(provider, func(t *testing.T) {
			agreed, excused := 0, 0
			for _, r := range recordings(t, provider) {
				if reason := limitation(r); reason != "" {
					excused++
					continue
				}
				if judge(t, r, j.sdk, j.ours) {
					agreed++
				}
			}
			t.Logf("%d replies agree with the SDK, %d excused with a reason", agreed, excused)
		})
	}
}

func judge(t *testing.T, r recording, sdk func([]byte) ([]Block, error),
	parser func(stream.Options) stream.Parser) bool {
	t.Helper()
	p := parser(stream.Options{Lenient: true})
	_, werr := p.Write(r.body)
	reply, cerr := p.Close()
	got := Ours(reply.Message.Blocks)
	want, err := sdk(r.body)
	var incomplete *stream.IncompleteError
	switch {
	case err != nil && werr == nil && cerr == nil:
		t.Errorf("%s: the SDK refuses what we accept: %v", r.name, err)
		return false
	case err != nil:
		return true
	case werr == nil && errors.As(cerr, &incomplete):
		// No SDK asks whether a stream came to its end; we do. Its
		// blocks must still agree as far as they go.
		if unfinished[r.provider+"/"+r.name] == "" {
			t.Errorf("%s: we call it incomplete, the SDK does not mind: %v", r.name, cerr)
			return false
		}
	case werr != nil || cerr != nil:
		t.Errorf("%s: we refuse what the SDK accepts: %v %v", r.name, werr, cerr)
		return false
	}
	forgetSynthesised(got, want)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: blocks differ (-sdk +ours):\n%s", r.name, diff)
		return false
	}
	return true
}

// forgetSynthesised clears the call ids we had to make up because the provider
// sent none.
func forgetSynthesised(got, want []Block) {
	for i := range want {
		if i < len(got) && want[i].Kind == "tool_use" && want[i].ID == "" {
			got[i].ID = ""
		}
	}
}
