package archtest

import "testing"

// heavy lists libraries that only the rkat command links. conform has rkat as its
// built-in subject, and the first command that people run downloads what it links.
var heavy = []string{"modernc.org/sqlite", "go.opentelemetry.io", "github.com/prometheus"}

func TestLightCore(t *testing.T) {
	found := 0
	for _, p := range packages(t) {
		if name := p.name(); name != "internal/app/rkat" && name != "internal/app/conform" && name != "cmd/conform" && name != "meerkat" {
			continue
		}
		found++
		for _, d := range p.Deps {
			if underAny(d, heavy) {
				t.Errorf("%s links %s; let cmd/rkat give it to rkat.Backends", p.name(), d)
			}
		}
	}
	if found != 4 {
		t.Errorf("%d of 4 packages found", found)
	}
}
