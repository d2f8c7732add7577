package check_test

import (
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
)

// TestGeminiQuota: Gemini has the same words for a rate and for a spent quota. The request
// may come back unless a quota of the day is named.
func TestGeminiQuota(t *testing.T) {
	for details, findings := range map[string]int{
		`[]`: 0,
		`[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"48s"}]`:                                                                0,
		`[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel"}]}]`:       0,
		`[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]`: 1,
	} {
		refused := specs.ExampleExchange{
			Request: `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`, Status: 429,
			Reply: `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan.","status":"RESOURCE_EXHAUSTED","details":` + details + `}}`,
		}
		ev := evidence.FromExample(specs.Requirement{}, specs.Example{Provider: evidence.Gemini, Exchanges: []specs.ExampleExchange{refused, refused}})
		if res := find(t, "REC-002/not-again").Run(check.Decode(&ev)); len(res.Findings) != findings {
			t.Errorf("%s: %d findings, want %d: %+v", details, len(res.Findings), findings, res.Findings)
		}
	}
}
