package specs

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed wire-rules.md
var wireRulesPage string

// WireRule is one row of a table in specs/wire-rules.md whose first column is
// "id": a demand of a provider, a regression of real agents, a pitfall.
type WireRule struct {
	// IDs are its names; the first one is the one to cite: "A-1", "ANT-M6".
	IDs []string
	// Section is the heading it stands under, e.g. "5.1 Anthropic".
	Section string
	// Cells are the other cells of the row that hold something, as Markdown without bold.
	Cells []Cell
}

// Cell is one cell of a table under the heading of its column.
type Cell struct{ Column, Text string }

// Title is the first cell after the id.
func (r WireRule) Title() string {
	if len(r.Cells) == 0 {
		return ""
	}
	return r.Cells[0].Text
}

// WireRules returns every row of specs/wire-rules.md in the order of the page.
// The slice is the caller's; what its elements point to is shared and must not
// be changed.
func WireRules() ([]WireRule, error) {
	all, err := embeddedWireRules()
	return slices.Clone(all), err
}

var embeddedWireRules = sync.OnceValues(func() ([]WireRule, error) { return parseWireRules(wireRulesPage) })

var heading = regexp.MustCompile(`^#+ (.*)`)

// parseWireRules reads the tables of a Markdown page whose first column is "id".
// Other tables are passed over. An id that stands in two rows, a row without an
// id and a row with more cells than columns are errors.
func parseWireRules(page string) ([]WireRule, error) {
	var rules []WireRule
	var columns []string // of the table that is open, nil for none
	section := ""
	seen := map[string]bool{}
	for line := range strings.Lines(withoutBold(page)) {
		cells := splitRow(line)
		switch {
		case heading.MatchString(line):
			section = heading.FindStringSubmatch(line)[1]
		case cells == nil:
			columns = nil
		case cells[0] == "id":
			columns = cells
		case columns == nil || strings.HasPrefix(cells[0], "---"):
		case len(cells) > len(columns):
			return nil, fmt.Errorf("wire rules: %s: %d cells under %d columns; write | inside a cell as \\|", cells[0],
				len(cells), len(columns))
		default:
			rule := WireRule{IDs: strings.Split(cells[0], " · "), Section: section}
			for _, id := range rule.IDs {
				if id == "" || seen[id] {
					return nil, fmt.Errorf("wire rules: id %q in section %s is missing or used twice", id, section)
				}
				seen[id] = true
			}
			for i, text := range cells[1:] {
				if text != "" {
					rule.Cells = append(rule.Cells, Cell{columns[i+1], text})
				}
			}
			rules = append(rules, rule)
		}
	}
	return rules, nil
}

// withoutBold takes the marks of bold words out of a page: what shows its rules shows code, and no other mark.
func withoutBold(page string) string { return strings.ReplaceAll(page, "**", "") }

// splitRow returns the cells of a row of a table, nil for any other line.
func splitRow(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	const bar = "\x00" // stands for \| while the row is split
	line = strings.ReplaceAll(line, `\|`, bar)
	cells := strings.Split(strings.TrimSuffix(line[1:], "|"), "|")
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(c), bar, "|")
	}
	return cells
}

// WireSection is one numbered section of specs/wire-rules.md.
type WireSection struct {
	// Number is as in the heading: "3.2". Title begins with that of the chapter:
	// "Streams: OpenAI".
	Number, Title string
	// Text is what stands between its heading and the next one, as Markdown without bold.
	Text string
}

var numberedHeading = regexp.MustCompile(`(?m)^#+ (?:(\d+(?:\.\d+)*) )?(.*)$`)

// WireSections returns the numbered sections of specs/wire-rules.md that hold
// text, in the order of the page. The slice is the caller's.
func WireSections() (sections []WireSection) {
	page := withoutBold(wireRulesPage)
	headings := numberedHeading.FindAllStringSubmatchIndex(page, -1)
	chapter := ""
	for i, h := range headings {
		end := len(page)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		text := strings.TrimSpace(page[h[1]:end])
		if h[2] < 0 {
			continue
		}
		number, title := page[h[2]:h[3]], page[h[4]:h[5]]
		if strings.Contains(number, ".") {
			title = chapter + ": " + title
		} else {
			chapter = title
		}
		if text != "" {
			sections = append(sections, WireSection{number, title, text})
		}
	}
	return sections
}
