package members

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/wires/tree"
)

const toy = `
# A comment.
closed: item@T-9
request: >-
  model*@T-1:s[1..4]@T-2 items:a=item count:i[0..]
  extra:o=open names:a<s(x|y)>
  key:s/^[a-z]+$/~ id:s#ab size:i!big
"item:text|": type text*:s
"item:new_*": "! *"
open: "? deep*:b *"
`

// TestWalk holds each kind of fault, its rule and its side, in the order of the description.
func TestWalk(t *testing.T) {
	d := Parse(toy, Style{TagsInPath: true, Rules: map[Kind]string{Unknown: "T-5", Missing: "T-6", WrongType: "T-7"}})
	for body, want := range map[string]string{
		`{"model":"m","items":[{"text":"a"},{"type":"text","text":"b"}],"names":["x"],"key":"k","id":"ab-1","count":0}`: "",
		`{"z":1,"count":-1,"size":1,"items":{}}`:                                   "2T-1+model 5T-7+items 10+count 0T-5+z 1+size",
		`{"model":"","items":[{},{"type":"odd"},{"type":"new_1"},3]}`:              "4T-2-model 11T-2+model 2T-6+items.0.text.text 6T-9+items.1 6T-9-items.2 5T-7+items.3",
		`{"model":"m","extra":{"more":1},"names":["z",1,null],"key":"K","id":"b"}`: "2T-6?extra.deep 7+names.0 5T-7+names.1 5T-7+names.2 8?key 9?id",
	} {
		root, err := tree.Parse(body)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		found := d.Walk(root, "request", []string{"small-2026"})
		for _, f := range found.Faults {
			got = append(got, string("0123456789:;"[f.Kind])+f.Rule+string("+?-"[f.Side])+f.Said.Dotted())
		}
		want = strings.NewReplacer(" 10+", " :+", " 11T", " ;T").Replace(want)
		if is := strings.Join(got, " "); is != want {
			t.Errorf("%s:\n got %s\nwant %s", body, is, want)
		}
	}
	if names := d.BetaMembers("big-2026-01-01"); len(names) != 1 || names[0] != "size" {
		t.Errorf("the beta brings %v", names)
	}
}

// TestProto holds what proto-JSON lets pass and what it does not.
func TestProto(t *testing.T) {
	d := Parse("request: maxTokens:i parts:ao=part mode:e(ON|OFF) tags:a<s> safe:b!vertex props:o={part}\npart: text+:s data+:y\n", Style{Proto: true})
	for body, want := range map[string]string{
		`{"max_tokens":"1","maxTokens":1,"parts":{"text":"a"},"mode":"on","tags":"a","props":{"a":{"data":"YQ"}}}`: "",
		`{"max_tokens":"1.5","parts":[{"text":"a","data":"?"}],"mode":"x","safe":true}`:                            "max_tokens parts[0] parts[0].data mode ",
		`{"props":{"a":{"text":1}},"tags":[1]}`:                                                                    "props[0].value.text tags[0]",
	} {
		root, err := tree.Parse(body)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range d.Walk(root, "request", nil).Faults {
			got = append(got, f.Said.String())
		}
		if is := strings.Join(got, " "); is != want {
			t.Errorf("%s:\n got %s\nwant %s", body, is, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for file, want := range map[string]string{"request: model**\n": "does not describe",
		"request: tools=tool\n": "not described"} {
		func() {
			defer func() {
				if said, _ := recover().(string); !strings.Contains(said, want) {
					t.Errorf("%s: %q", file, said)
				}
			}()
			Parse(file, Style{})
		}()
	}
}
