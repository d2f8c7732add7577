package check_test

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
)

// TestHostedItems: what tools of OpenAI's did is sent back whole or, where it is stored, by id.
func TestHostedItems(t *testing.T) {
	const (
		named, kept = "SIG-013/no-bare-ids", "SIG-021/hosted-kept"
		unstored    = `"store":false,`
		image       = `{"id":"ig_1","type":"image_generation_call","status":"completed","result":"iVBORw0KGgo="}`
		imageID     = `{"id":"ig_1","type":"image_generation_call"}`
		failed      = `{"id":"ig_1","type":"image_generation_call","status":"failed","result":null}`
		search      = `{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}`
		searchID    = `{"id":"ws_1","type":"web_search_call","status":"completed"}`
		thought     = `{"id":"rs_1","type":"reasoning","summary":[]}`
	)
	turn := func(before, reply, more, input string) []evidence.Exchange {
		return []evidence.Exchange{keptTurn(0, before, words, "resp_1", reply),
			keptTurn(1, more, words+`,`+input, "resp_2", "")}
	}
	for name, tt := range map[string]struct {
		check, want string
		consequence specs.Consequence
		list        []evidence.Exchange
	}{
		"an image by its id": {named, "ig_1 relies on storage", "",
			turn(unstored, image, unstored, imageID+`,`+words)},
		"of nobody knows whose reply": {named, "ig_1 relies on storage", "",
			turn(unstored, "", unstored, imageID+`,`+words)},
		"an image that failed": {named, "ig_1 relies on storage", "",
			turn(unstored, failed, unstored, failed+`,`+words)},
		"a whole image":     {named, "", "", turn(unstored, image, unstored, image+`,`+words)},
		"a stored image":    {named, "", "", turn("", image, "", imageID+`,`+words)},
		"stored before":     {named, "", "", turn("", image, unstored, imageID+`,`+words)},
		"not stored before": {named, "in exchange 0", "", turn(unstored, image, "", imageID+`,`+words)},
		"a reference to what is unstored": {named, "in exchange 0", "",
			turn(unstored, image, "", `{"type":"item_reference","id":"ig_1"},`+words)},
		"a search by its id": {named, "ws_1 relies on storage", specs.Degraded,
			turn(unstored, search, unstored, searchID+`,`+words)},
		"a search that never said more": {named, "", "", turn(unstored, searchID, unstored, searchID+`,`+words)},
		"left out of the open turn": {kept, "ig_1 of the open turn", specs.Degraded,
			turn(unstored, image+`,`+keptCall, unstored, keptCall+`,`+answer)},
		"left out of an old turn": {kept, "", "",
			turn(unstored, image+`,`+keptCall, unstored, keptCall+`,`+answer+`,`+words)},
		"a failed one left out": {kept, "", "",
			turn(unstored, failed+`,`+keptCall, unstored, keptCall+`,`+answer)},
		"its stored reasoning stays": {kept, "rs_1 is stored, and web_search_call ws_1", "",
			turn("", thought+`,`+search+`,`+keptCall, "", thought+`,`+keptCall+`,`+answer+`,`+words)},
		"both are left out": {kept, "", "",
			turn("", thought+`,`+search+`,`+keptCall, "", keptCall+`,`+answer+`,`+words)},
		"kept by the provider": {kept, "", "",
			turn("", search+`,`+keptCall, `"previous_response_id":"resp_1",`, answer)},
	} {
		res := find(t, tt.check).Run(recording(tt.list...))
		if (len(res.Findings) > 0) != (tt.want != "") ||
			tt.want != "" && (!strings.Contains(res.Findings[0].Message, tt.want) ||
				res.Findings[0].Consequence != tt.consequence) {
			t.Errorf("%s: %+v", name, res.Findings)
		}
	}
}
