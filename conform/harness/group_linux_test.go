package harness

import (
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// The keyboard's interrupt reaches the run alone: an agent that it ended first would fail its
// case.
func TestAgentsHaveTheirOwnGroup(t *testing.T) {
	p := evidence.Process{Args: []string{"-c", "cut -d' ' -f5 /proc/$$/stat"}}
	if err := (rkatSubject{path: "/bin/sh"}).startProcess(t.Context(), &p, []string{"PATH=/usr/bin:/bin"}, Step{}); err != nil {
		t.Fatal(err)
	}
	group, err := strconv.Atoi(strings.TrimSpace(string(p.Stdout)))
	if err != nil || group == syscall.Getpgrp() {
		t.Errorf("the agent is in group %q (%v), the run in %d", p.Stdout, err, syscall.Getpgrp())
	}
}
