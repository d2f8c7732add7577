package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// takeTurns measures every agent once a round. One that fails is out of it and
// says why.
func takeTurns(ctx context.Context, rounds int, all []*agent,
	measure func(context.Context, *agent) (figures, error)) (map[*agent][]figures, error) {
	taken := map[*agent][]figures{}
	out := map[*agent]bool{}
	for round := range rounds {
		for _, a := range all {
			if out[a] {
				continue
			}
			f, err := measure(ctx, a)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				out[a] = true
				progress("%s: left out: %v", a.name, err)
				continue
			}
			progress("round %d: %s: %v, cpu %v, %.0f MiB", round+1, a.name, f.wall, f.cpu, f.mib)
			taken[a] = append(taken[a], f)
		}
	}
	return taken, nil
}

// best is the least of each figure: other work on the machine only adds to them.
// Of the memory it is the middle, for a look that comes late sees less.
func best(all []figures) (f figures) {
	if len(all) == 0 {
		return f
	}
	var mib []float64
	for _, one := range all {
		mib = append(mib, one.mib)
	}
	least := func(of func(figures) time.Duration) time.Duration {
		return of(slices.MinFunc(all, func(x, y figures) int { return cmp.Compare(of(x), of(y)) }))
	}
	return figures{
		wall: least(func(f figures) time.Duration { return f.wall }),
		cpu:  least(func(f figures) time.Duration { return f.cpu }), mib: median(mib),
	}
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.0f", float64(d)/float64(time.Millisecond))
}

// times is one figure over another.
func times(x, y float64) string {
	switch {
	case x == 0 || y == 0:
		return "–"
	case x < 9.95*y:
		return fmt.Sprintf("%.1f", x/y)
	}
	return fmt.Sprintf("%.0f", x/y)
}

// against is the agent that another one is measured against: rkat, asking the
// same provider.
func against(all []*agent, a *agent) *agent {
	i := slices.IndexFunc(all, func(o *agent) bool { return o.vendor == a.vendor && strings.HasPrefix(o.name, "rkat") })
	if i < 0 {
		return a
	}
	return all[i]
}

// cells are the figures and what they are of those of another.
func (f figures) cells(to figures) []string {
	return []string{
		milliseconds(f.wall), milliseconds(f.cpu), fmt.Sprintf("%.0f", f.mib),
		times(float64(f.wall), float64(to.wall)), times(float64(f.cpu), float64(to.cpu)), times(f.mib, to.mib),
	}
}

func startTable(all []*agent, taken map[*agent][]figures) {
	head("--version", "", "version", "wall, ms", "CPU, ms", "memory, MiB", "× rkat wall", "CPU", "memory")
	shown := map[string]bool{}
	for _, a := range all {
		if shown[a.program] || taken[a] == nil {
			continue
		}
		shown[a.program] = true
		name, version := a.name, a.version
		if strings.HasPrefix(name, "rkat") {
			name, version = "rkat", "of this tree"
		}
		row(append([]string{name, version}, best(taken[a]).cells(best(taken[all[0]]))...)...)
	}
}

func talkTable(all []*agent, taken map[*agent][]figures) {
	head(fmt.Sprintf("a run of %d turns with %d calls of a tool", loops+1, loops), "", "wall, ms", "CPU, ms",
		"memory, MiB", "× rkat wall", "CPU", "memory", "requests", "")
	for _, a := range all {
		if taken[a] == nil {
			continue
		}
		cells := best(taken[a]).cells(best(taken[against(all, a)]))
		row(append(append([]string{a.name}, cells...), fmt.Sprint(a.requests), a.vendor+"; "+a.note)...)
	}
}
