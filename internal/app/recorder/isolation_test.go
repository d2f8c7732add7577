package recorder

import (
	"testing"

	"github.com/meerkat-go/conformance/internal/isolate"
)

// Where a system does not isolate, --isolate is refused in one sentence.
func TestIsolateIsRefused(t *testing.T) {
	err := checkLevel(isolate.Level{Reason: "only Linux has network namespaces"})
	if err == nil || err.Error() != "--isolate: only Linux has network namespaces" {
		t.Errorf("%v", err)
	}
	if err := checkLevel(isolate.Level{Enforced: true}); err != nil {
		t.Error(err)
	}
}
