package archtest

import (
	"go/scanner"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// maxLine is how many bytes a line of code may have, unless a string or a comment of maxToken bytes stands in it.
const (
	maxLine  = 140
	maxToken = 50
)

// TestLinesAreShort holds that lines of programs are broken where they can be.
func TestLinesAreShort(t *testing.T) {
	seen := 0
	walk(t, func(path string) {
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return
		}
		text := read(t, path)
		longest := longestTokens([]byte(text))
		for i, line := range strings.Split(text, "\n") {
			if seen++; len(line) > maxLine && longest[i+1] < maxToken {
				t.Errorf("%s:%d: has %d bytes; break it; code has 120 columns", path, i+1, len(line))
			}
		}
	})
	if seen < 100_000 {
		t.Errorf("only %d lines were read", seen)
	}
}

// longestTokens returns the length of the longest token that stands in each line, whole or in part.
func longestTokens(data []byte) map[int]int {
	longest := map[int]int{}
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(data))
	var s scanner.Scanner
	s.Init(file, data, nil, scanner.ScanComments)
	for {
		at, kind, text := s.Scan()
		if kind == token.EOF {
			return longest
		}
		first := file.Line(at)
		for line := first; line <= first+strings.Count(text, "\n"); line++ {
			longest[line] = max(longest[line], len(text))
		}
	}
}
