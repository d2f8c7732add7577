package scrub_test

import (
	"encoding/json"
	"fmt"

	"github.com/meerkat-go/conformance/proxy/scrub"
)

// Two requests of different days are the same under the rule date.
func Example() {
	date, err := scrub.Parse("date")
	if err != nil {
		panic(err)
	}
	for _, body := range []string{`{"system":"Today is 2026-11-23."}`, `{"system":"Today is 2027-02-01."}`} {
		var v any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			panic(err)
		}
		v, taken := scrub.Rules{date}.Apply(v)
		fmt.Println(v, taken)
	}
	// Output:
	// map[system:Today is <date>.] map[date:[2026-11-23]]
	// map[system:Today is <date>.] map[date:[2027-02-01]]
}
