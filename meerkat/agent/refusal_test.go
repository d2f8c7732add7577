package agent

import (
	"testing"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// rendering is a provider whose requests do not name the model.
type rendering struct{ model }

func (*rendering) Render(*provider.Request) ([]byte, error) { return []byte("{}"), nil }

// TestRefusedBeforeByTheModel: what one model found too long another one may take.
func TestRefusedBeforeByTheModel(t *testing.T) {
	for name, isRefused := range map[string]bool{"small": true, "large": false} {
		d := &driver{cfg: Config{Client: &rendering{model{provider: "gemini"}}}}
		d.state.target.Model = catalog.Entry{Model: name}
		d.state.session.Refusals = []session.Refusal{{
			Provider: "gemini", Model: "small", Request: digestBody([]byte("{}")), TooLong: true,
		}}
		if err := d.checkRefusedBefore(&provider.Request{}); (err != nil) != isRefused || isRefused && !isTooLong(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
