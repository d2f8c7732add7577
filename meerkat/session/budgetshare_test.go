package session_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/session"
)

func TestDivide(t *testing.T) {
	left := session.Limits{MaxTokens: 1000, MaxDuration: time.Minute, MaxToolCalls: 7}
	for _, c := range []struct {
		policy session.ForkBudgetPolicy
		want   []session.Limits
	}{
		{
			session.ForkBudgetPolicy{},
			[]session.Limits{
				{MaxTokens: 334, MaxDuration: time.Minute, MaxToolCalls: 3},
				{MaxTokens: 333, MaxDuration: time.Minute, MaxToolCalls: 2},
				{MaxTokens: 333, MaxDuration: time.Minute, MaxToolCalls: 2},
			},
		},
		{
			session.ProportionalShares(3, 1),
			[]session.Limits{
				{MaxTokens: 750, MaxDuration: time.Minute, MaxToolCalls: 6},
				{MaxTokens: 250, MaxDuration: time.Minute, MaxToolCalls: 1},
			},
		},
		{
			session.FixedShares(400),
			[]session.Limits{
				{MaxTokens: 400, MaxDuration: time.Minute, MaxToolCalls: 4},
				{MaxTokens: 400, MaxDuration: time.Minute, MaxToolCalls: 3},
			},
		},
		{session.WholeRemainder(), []session.Limits{left, left}},
	} {
		got, err := c.policy.Divide(left, len(c.want))
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%+v: %v %s", c.policy, err, diff)
		}
	}
}

func TestDivideRefuses(t *testing.T) {
	left := session.Limits{MaxTokens: 1000, MaxToolCalls: 2}
	for want, c := range map[string]struct {
		policy   session.ForkBudgetPolicy
		branches int
	}{
		"0 branches; want 1 to":                               {session.EqualShares(), 0},
		"70000 branches; want 1 to 65536":                     {session.EqualShares(), 70000},
		"the 2 tool_calls that are left are too few for 3":    {session.EqualShares(), 3},
		"the weights are [1 0]; want one above 0":             {session.ProportionalShares(1, 0), 2},
		"the weights are [1]; want one above 0":               {session.ProportionalShares(1), 2},
		"2 branches of 501 tokens do not fit into the 1000":   {session.FixedShares(501), 2},
		"a fixed share of 0 tokens is not a limit; give each": {session.FixedShares(0), 2},
		"2 branches of 18446744073709551615 tokens do not":    {session.FixedShares(1<<64 - 1), 2},
	} {
		if got, err := c.policy.Divide(left, c.branches); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v; want %s", got, err, want)
		}
	}
}

// TestSharesAddUp: shares are never empty, add up to what was left, and can all be
// reserved at once.
func TestSharesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left := anyLimits().Draw(t, "left")
		weights := rapid.SliceOfN(rapid.Uint32Min(1), 1, 9).Draw(t, "weights")
		policy := rapid.SampledFrom([]session.ForkBudgetPolicy{
			session.EqualShares(), session.ProportionalShares(weights...),
		}).Draw(t, "policy")
		shares, err := policy.Divide(left, len(weights))
		if err != nil {
			return // too little of something
		}
		pool, sum := session.NewBudgetPool(left, session.Spent{}), session.Limits{}
		for i, s := range shares {
			if pool, err = pool.Reserve(string(rune('a'+i)), s); err != nil {
				t.Fatalf("share %d of %+v: %v", i, left, err)
			}
			sum = session.Limits{
				MaxTokens: sum.MaxTokens + s.MaxTokens, MaxDuration: s.MaxDuration,
				MaxToolCalls: sum.MaxToolCalls + s.MaxToolCalls, MaxTurns: sum.MaxTurns + s.MaxTurns,
			}
		}
		if sum != left {
			t.Fatalf("the shares add up to %+v, not %+v", sum, left)
		}
	})
}

func TestForkBudgetPolicyJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"equal"}`:                      `{"type":"equal"}`,
		`{"type":"proportional","value":[3,1]}`: `{"type":"proportional","value":[3,1]}`,
		`{"type":"fixed","value":5000}`:         `{"type":"fixed","value":5000}`,
		`{"type":"remaining"}`:                  `{"type":"remaining"}`,
		`{"type":"remain"}`:                     `fork budget: type "remain" is not known; there are equal, fixed`,
		`{"type":"proportional","value":[-1]}`:  "fork budget: proportional: json: cannot unmarshal",
		`{"type":"fixed"}`:                      "fork budget: fixed needs a value",
	} {
		var p session.ForkBudgetPolicy
		err := json.Unmarshal([]byte(in), &p)
		out, merr := json.Marshal(p)
		if merr != nil || err == nil && string(out) != want || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %s, %v, %v; want %s", in, out, err, merr, want)
		}
	}
}

// FuzzForkBudgetPolicy: what is read is written, and divides within what is left.
func FuzzForkBudgetPolicy(f *testing.F) {
	for _, s := range []string{
		`{"type":"equal"}`, `{"type":"proportional","value":[3,1]}`, `{"type":"fixed","value":5000}`,
	} {
		f.Add([]byte(s), uint64(1000), 2)
	}
	f.Fuzz(func(t *testing.T, data []byte, tokens uint64, branches int) {
		var first, second session.ForkBudgetPolicy
		if json.Unmarshal(data, &first) != nil {
			return
		}
		written, err := json.Marshal(first)
		if err != nil || json.Unmarshal(written, &second) != nil {
			t.Fatalf("%s became %s: %v", data, written, err)
		}
		branches = min(branches, 100)
		shares, err := second.Divide(session.Limits{MaxTokens: tokens}, branches)
		if err == nil && len(shares) != branches {
			t.Errorf("%d shares for %d branches", len(shares), branches)
		}
		for _, s := range shares {
			if tokens > 0 && (s.MaxTokens == 0 || s.MaxTokens > tokens) {
				t.Errorf("%s: a share of %d tokens out of %d", written, s.MaxTokens, tokens)
			}
		}
	})
}
