// Package bench measures the referee: it alters recorded traffic in known ways
// and counts what the referee finds.
//
// A [Kind] is one way to alter evidence. [Faults] lists what an agent must not
// do, [Legal] what it may do. [Run] applies each kind to several recordings of
// each provider that it fits, judges them before and after, and counts only what
// is new:
//
//	table := bench.Run(rules, recordings, 1, 5)
//	table.WriteText(os.Stdout)
//
// The kinds are written from the reference of the providers' rules and from
// reports of real bugs, without a look at the checks. A kind fits only where the
// fault is decidable: the altered place can be seen in a single request, or the
// recording holds the original. Everything is deterministic for a seed, and no
// input is changed.
package bench
