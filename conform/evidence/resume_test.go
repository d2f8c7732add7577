package evidence

import (
	"slices"
	"strings"
	"testing"
)

// recorded returns a recording of n exchanges, of which those in skipped are not judged.
func recorded(path string, n int, skipped ...int) Recording {
	r := Recording{Path: path, Format: FormatHAR, Evidence: Evidence{Source: SourceRecording, Case: path}}
	for i := range n {
		if slices.Contains(skipped, i) {
			r.Skipped = append(r.Skipped, Skip{Exchange: i})
			continue
		}
		r.Evidence.Exchanges = append(r.Evidence.Exchanges, Exchange{Index: i, Process: -1})
	}
	return r
}

func layout(r Recording) (indexes, processes []int, resumed []bool) {
	for _, x := range r.Evidence.Exchanges {
		indexes, processes = append(indexes, x.Index), append(processes, x.Process)
	}
	for _, p := range r.Evidence.Process {
		resumed = append(resumed, p.Resumed)
	}
	return indexes, processes, resumed
}

func TestMarkResume(t *testing.T) {
	for name, c := range map[string]struct {
		at, want []int
		resumed  []bool
	}{
		"once":                        {[]int{2}, []int{0, 0, 1, 1}, []bool{false, true}},
		"twice, in any order":         {[]int{4, 2}, []int{0, 0, 1, 2}, []bool{false, true, true}},
		"the same exchange twice":     {[]int{2, 2}, []int{0, 0, 1, 1}, []bool{false, true}},
		"an exchange nobody judges":   {[]int{3}, []int{0, 0, 0, 1}, []bool{false, true}},
		"the second and the last":     {[]int{1, 4}, []int{0, 1, 1, 2}, []bool{false, true, true}},
		"a border that holds nothing": {[]int{3, 4}, []int{0, 0, 0, 2}, []bool{false, true, true}},
	} {
		r := recorded("x.har", 5, 3)
		if err := r.MarkResume(c.at); err != nil {
			t.Fatal(name, err)
		}
		_, processes, resumed := layout(r)
		if !slices.Equal(processes, c.want) || !slices.Equal(resumed, c.resumed) {
			t.Errorf("%s: processes %v, resumed %v", name, processes, resumed)
		}
	}
	for _, at := range []int{-1, 0, 5, 1 << 40} {
		r := recorded("x.har", 5)
		if err := r.MarkResume([]int{at}); err == nil ||
			!strings.Contains(err.Error(), "x.har: no process can be resumed at exchange") {
			t.Errorf("%d: %v", at, err)
		}
	}
}

func TestJoin(t *testing.T) {
	known := recorded("b.har", 2)
	known.Evidence.Process = []Process{{ExitCode: -1}, {ExitCode: -1, Resumed: true}}
	known.Evidence.Exchanges[0].Process, known.Evidence.Exchanges[1].Process = 0, 1
	joined := Join("a + b + c", []Recording{recorded("a.har", 3, 1), known, recorded("c.har", 1)})
	indexes, processes, resumed := layout(joined)
	if !slices.Equal(indexes, []int{0, 2, 3, 4, 5}) || !slices.Equal(processes, []int{0, 0, 1, 2, 3}) ||
		!slices.Equal(resumed, []bool{false, true, true, true}) {
		t.Errorf("exchanges %v, processes %v, resumed %v", indexes, processes, resumed)
	}
	if joined.Path != "a + b + c" || joined.Evidence.Case != joined.Path || joined.Format != FormatHAR ||
		len(joined.Skipped) != 1 || joined.Skipped[0].Exchange != 1 {
		t.Errorf("%+v", joined)
	}
	if known.Evidence.Process[0].Resumed || known.Evidence.Exchanges[0].Index != 0 {
		t.Error("a part was changed")
	}
	for _, p := range joined.Evidence.Process {
		if p.ExitCode != -1 {
			t.Error("an exit code was invented")
		}
	}
}
