package cassette

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// closeLine returns the last line of a complete file that lacks nothing.
func closeLine(count int, last seal) string { return closing{count: count}.lineAfter(last) }

// sealed is a file of one item below a head, whatever they hold.
func sealed(head, item string) []byte {
	s := sum([]byte(head)).nextSeal([]byte(item))
	return []byte(head + item + sealLine(0, len(item), s) + closeLine(1, s))
}

func strictly(c *Cassette) error {
	if err := c.StrictHead(); err != nil {
		return err
	}
	_, err := c.Strict(0)
	return err
}

// Seals alone would pass a file that another writer sealed in its own way.
func TestStrictRefusesWhatTheFormatDoesNotHave(t *testing.T) {
	m := testMeta
	m.Version = FormatVersion
	head, item := string(encodeHead(m)), string(appendItem(nil, samples()[0]))
	for name, edit := range map[string][3]string{
		"":                      {},
		"unknown key in meta":   {"head", "version: 1\n", "    colour: \"red\"\nversion: 1\n"},
		"key before the meta's": {"head", "version: 1\n", "version: 1\nextra: 1\n"},
		"another order": {"head", "    tool: \"recorder test\"\n    created: \"2026-11-21T09:00:00Z\"\n",
			"    created: \"2026-11-21T09:00:00Z\"\n    tool: \"recorder test\"\n"},
		"another style":            {"head", "\"synthetic\"", "synthetic"},
		"unknown provenance":       {"head", "synthetic", "invented"},
		"no time":                  {"head", "2026-11-21T09:00:00Z", "yesterday"},
		"unknown key in a request": {"item", "        form: {}\n", "        form: {}\n        host: \"x\"\n"},
		"unknown reserved header": {"item", "            \"X-Cassette-Request-Proto\"",
			"            \"X-Cassette-Odd\":\n                - \"x\"\n            \"X-Cassette-Request-Proto\""},
		"a comment":      {"item", "      response:\n", "      # a comment\n      response:\n"},
		"another status": {"item", "200 OK", "200 Fine"},
		"one as long":    {"item", "200 OK", "200 KO"},
		"a form":         {"item", "form: {}", "form: {a: [b]}"},
	} {
		h, it := head, item
		switch edit[0] {
		case "head":
			h = strings.Replace(head, edit[1], edit[2], 1)
		case "item":
			it = strings.Replace(item, edit[1], edit[2], 1)
		}
		if edit[0] != "" && h == head && it == item {
			t.Fatalf("%s: the edit changes nothing", name)
		}
		c, err := Parse("x.yaml", sealed(h, it))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := c.Verify(); err != nil {
			t.Errorf("%s: the seals are good: %v", name, err)
		}
		err = strictly(c)
		if (err != nil) != (name != "") ||
			err != nil && (!errors.Is(err, ErrFormat) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What the writer writes is what a strict reading takes.
func TestStrictTakesWhatIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		item, err := encodeItem(interaction().Draw(t, "interaction"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := Parse("x.yaml", file(item))
		if err == nil {
			err = strictly(c)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, item)
		}
	})
}
