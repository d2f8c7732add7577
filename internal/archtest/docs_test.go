package archtest

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	root      = "../.."
	wireRules = "specs/wire-rules.md"
	design    = "docs/design.md"
	// specification says what the cited sections of the specification ask for.
	specification = "docs/specification.md"
)

// Citations as code, requirements and scenarios write them.
var (
	// ruleID is a demand of a provider or a difference to the specification. No
	// other text looks like one, so string literals may hold them, too.
	ruleID = regexp.MustCompile(`\b(?:[AOGD]-\d{1,2}|(?:ANT|OAI|GEM)-[A-Z]\d{1,2})\b`)
	// shortID is an id without a dash; outside comments much else looks like it.
	shortID = regexp.MustCompile(`\b[RDXEGV]\d{1,2}\b`)
	// section is a document and one or more sections of it.
	section  = regexp.MustCompile(`\b(reference|regressions|DESIGN|seed \d{3})(?:\.md)?((?:,? ?(?:and |to )?(?:§\d+(?:\.\d+)*|Appendix A\b))+)`)
	sectionN = regexp.MustCompile(`\d+(?:\.\d+)*|Appendix A`)
	// source is an entry of a requirement.
	source    = regexp.MustCompile(`doc: (wire rules), section: (?:"([^"]*)"|([^}]*))}`)
	caseN     = regexp.MustCompile(`\([^)]*\)`)
	wholeSect = regexp.MustCompile(`^\d+(?:\.\d+)*$`)
)

// TestCitations holds that every id and section that the tree cites is explained
// in the documents of the repository.
func TestCitations(t *testing.T) {
	known := citable(t)
	cited := 0
	for _, path := range sources(t) {
		for _, c := range citations(t, path) {
			cited++
			if filepath.Ext(path) == ".go" && (strings.HasPrefix(c, "DESIGN ") || strings.HasPrefix(c, "seed ")) {
				t.Errorf("%s cites %q, which a reader of the code cannot follow; say the thing itself", path, c)
			}
			if !known[c] {
				t.Errorf("%s cites %q: %s and %s do not know it; add a row or correct the citation", path, c,
					wireRules, design)
			}
		}
	}
	if cited < 500 {
		t.Errorf("%d citations found; the test would prove little", cited)
	}
}

// citable lists what the documents explain: ids in the first cells of table rows,
// sections by their headings, numbered decisions.
func citable(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	heading := regexp.MustCompile(`^#+ (\d+(?:\.\d+)*) `)
	decision := regexp.MustCompile(`^(\d+)\. `)
	for file, doc := range map[string]string{wireRules: "reference", design: "DESIGN", specification: "specification"} {
		for line := range strings.Lines(read(t, file)) {
			cell, isRow := "", false
			if rest, ok := strings.CutPrefix(line, "| "); ok {
				cell, _, isRow = strings.Cut(rest, " |")
			}
			switch {
			case isRow && strings.Contains(cell, "§"), isRow && strings.HasPrefix(cell, "seed "):
				known[strings.Replace(cell, "§", "", 1)] = true
			case isRow:
				for _, id := range strings.Split(cell, " · ") {
					known[id] = true
				}
			case heading.MatchString(line):
				known[doc+" "+heading.FindStringSubmatch(line)[1]] = true
			case file == design && decision.MatchString(line):
				known["DESIGN 3."+decision.FindStringSubmatch(line)[1]] = true
			}
		}
	}
	return known
}

// citations lists what a file cites: ids as they are, sections as "DESIGN 3.2".
func citations(t *testing.T, path string) []string {
	t.Helper()
	text := read(t, path)
	prose := text
	switch filepath.Ext(path) {
	case ".go":
		prose = comments(text)
	case ".txtar":
		prose, _, _ = strings.Cut(text, "\n-- ")
		text = prose
	}
	prose = regexp.MustCompile(`\n\s*(?://|#)?\s*`).ReplaceAllString(prose, " ")
	found := slices.Concat(ruleID.FindAllString(text, -1),
		shortID.FindAllString(ruleID.ReplaceAllString(prose, ""), -1))
	for _, m := range section.FindAllStringSubmatch(prose, -1) {
		for _, n := range sectionN.FindAllString(m[2], -1) {
			found = append(found, m[1]+" "+n)
		}
	}
	for _, m := range source.FindAllStringSubmatch(text, -1) {
		found = append(found, ofSource(m[1], m[2]+m[3])...)
	}
	return found
}

// ofSource returns the sections that a requirement's source names by number.
// Numbers in brackets are single cases, ids are found elsewhere.
func ofSource(doc, sections string) (found []string) {
	doc = "reference"
	for part := range strings.SplitSeq(caseN.ReplaceAllString(sections, ""), ",") {
		if part = strings.TrimSpace(part); wholeSect.MatchString(part) {
			found = append(found, doc+" "+part)
		}
	}
	return found
}

func comments(code string) string {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(code))
	s.Init(file, []byte(code), nil, scanner.ScanComments)
	var all strings.Builder
	for {
		_, tok, text := s.Scan()
		switch tok {
		case token.EOF:
			return all.String()
		case token.COMMENT:
			all.WriteString(text + "\n")
		default: // code
		}
	}
}

// sources lists the files that may cite, from the root of the repository.
func sources(t *testing.T) (paths []string) {
	t.Helper()
	walk(t, func(path string) {
		if ext := filepath.Ext(path); ext == ".go" || ext == ".yaml" || ext == ".txtar" {
			paths = append(paths, path)
		}
	})
	return paths
}

// walk visits the files of the tree that people write.
func walk(t *testing.T, visit func(path string)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") ||
			slices.Contains([]string{"cassettes", "testdata", "bin", "dist", "reports"}, d.Name())) {
			return fs.SkipDir
		}
		if !d.IsDir() {
			visit(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestLinks holds that relative links between documents lead somewhere.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s:#]*)(?:#([^)\s]*))?\)`)
	links := 0
	walk(t, func(path string) {
		if filepath.Ext(path) != ".md" ||
			!underAny(filepath.ToSlash(path), []string{"docs", "specs", "README.md", "CONTRIBUTING.md"}) {
			return
		}
		for _, m := range link.FindAllStringSubmatch(read(t, path), -1) {
			links++
			to := path
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(path), m[1])
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s, which does not exist", path, m[1])
			} else if m[2] != "" && filepath.Ext(to) == ".md" && !slices.Contains(anchors(read(t, to)), m[2]) {
				t.Errorf("%s links to %s#%s, which has no such heading", path, to, m[2])
			}
		}
	})
	if links == 0 {
		t.Error("no link found; the test would prove nothing")
	}
}

// anchors are the names that headings get.
func anchors(doc string) (names []string) {
	drop := regexp.MustCompile(`[^a-z0-9 _-]`)
	for line := range strings.Lines(doc) {
		if text := strings.TrimLeft(line, "#"); text != line {
			name := drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(text)), "")
			names = append(names, strings.ReplaceAll(name, " ", "-"))
		}
	}
	return names
}

// TestExtendNamesRealFiles holds that the walks of docs/extend.md lead through
// files and folders that exist.
func TestExtendNamesRealFiles(t *testing.T) {
	named := regexp.MustCompile("`((?:cmd|conform|docs|internal|meerkat|proxy|simulator|specs|suites|cassettes|wires)/[\\w./-]+)`")
	found := named.FindAllStringSubmatch(read(t, "docs/extend.md"), -1)
	for _, m := range found {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("docs/extend.md names %s, which does not exist", m[1])
		}
	}
	if len(found) < 15 {
		t.Errorf("%d files found in docs/extend.md; the test would prove little", len(found))
	}
}

// TestWayOfARequest holds that the functions on the way of a request through docs/design.md stand
// in the files that are named, and that the way is short.
func TestWayOfARequest(t *testing.T) {
	steps := regexp.MustCompile("(?m)^\\d+\\. `(?:\\w+\\.)?(\\w+)` \\(`([\\w./-]+)`\\)").FindAllStringSubmatch(read(t,
		design), -1)
	for _, s := range steps {
		if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + s[1] + `[\[(]`).MatchString(read(t, s[2])) {
			t.Errorf("%s leads through %s, which %s does not declare", design, s[1], s[2])
		}
	}
	if len(steps) < 10 || len(steps) > 15 {
		t.Errorf("%d steps from wire to verdict; 10 to 15 are expected", len(steps))
	}
}
