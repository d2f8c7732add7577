package profiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEmbeddedGateways(t *testing.T) {
	for _, name := range GatewayNames() {
		g, err := FindGateway(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if g.Name != name || g.About == "" || g.Install == nil {
			t.Errorf("%s: says that it is %q, %q, installed by %v", name, g.Name, g.About, g.Install)
		}
	}
}

func TestGatewayRoute(t *testing.T) {
	g, err := ParseGateway("g.yaml", []byte(`
name: g
run: [g, --port, "{port}"]
model: m
env: {A: all, B: all}
routes:
  - {wire: anthropic, env: {B: route}}
  - {wire: anthropic, upstream_wire: gemini, model: n}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ wire, upstream, model, env string }{
		{"", "", "m", "all route"}, {"anthropic", "anthropic", "m", "all route"}, {"", "gemini", "n", "all all"},
	} {
		r, err := g.Route(tt.wire, tt.upstream)
		if got := r.Env["A"] + " " + r.Env["B"]; err != nil || r.Model != tt.model || got != tt.env {
			t.Errorf("route %q to %q: model %q, environment %q, error %v", tt.wire, tt.upstream, r.Model, got, err)
		}
	}
	if _, err := g.Route("openai", ""); err == nil || !strings.Contains(err.Error(), "anthropic to gemini") {
		t.Errorf("an unknown route: %v", err)
	}
}

func TestFaultyGateways(t *testing.T) {
	path := filepath.Join(t.TempDir(), "g.yaml")
	if err := os.WriteFile(path,
		[]byte("name: g\nrun: [g, '{prot}']\nrutes: []\nroutes: [{wire: mesages}]\nfiles: {../x: y}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	_, err := FindGateway(path)
	for _, want := range []string{"{prot}", "did you mean routes", "mesages", "leads out of HOME"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	if _, err := FindGateway("portky"); err == nil || !strings.Contains(err.Error(), "portkey") {
		t.Errorf("an unknown name: %v", err)
	}
}
