package freetext

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
)

// TestRulesEarnTheirPlace holds that each rule alone finds a secret of the blind set, in the texts of its bodies as they
// are and in streamed ones joined. A new rule needs such a secret, or does not belong into the file.
func TestRulesEarnTheirPlace(t *testing.T) {
	rows, err := os.ReadFile("../../testdata/blind/rows.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	finds := map[string]int{}
	for line := range bytes.Lines(rows) {
		var row struct {
			Request  string `json:"request_body"`
			Response string `json:"response_body"`
			Secret   string
			Forms    []string `json:"secret_forms"`
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		if row.Secret == "" {
			continue
		}
		joined := ""
		for s := range jsonscan.Strings([]byte(row.Response), false) {
			joined += string(s.Value.In([]byte(row.Response)))
		}
		for _, text := range []string{row.Request, row.Response, joined} {
			secrets, _ := Search([]byte(text))
			for _, s := range secrets {
				if v := string(s.Value.In([]byte(text))); strings.Contains(v, row.Secret) ||
					len(row.Forms) > 0 && strings.Contains(row.Forms[0], v) {
					finds[s.Rule]++
				}
			}
		}
	}
	for _, r := range append(loadRules().all, tableRule, &rule{ID: addressRule}) {
		t.Logf("%3d %s", finds[r.ID], r.ID)
		if finds[r.ID] == 0 {
			t.Errorf("rule %s finds no secret of the set", r.ID)
		}
	}
}
