package record

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// keepAll saves ended interactions in the order in which they ended, until the queue is closed.
// Those that wait are saved together, with one write. It runs at a lower priority, so that the
// bytes of the clients go first; what is left when the queue is closed is saved by Close.
func (rec *Recorder) keepAll() {
	defer close(rec.done)
	lowerPriority()
	rec.keepFrom(rec.ended.take)
}

// keepFrom saves batches until there is none.
func (rec *Recorder) keepFrom(take func() []*exchange) {
	for batch := take(); len(batch) > 0; batch = take() {
		rec.keepBatch(batch)
		for _, x := range batch {
			close(x.saved)
			x.close()
		}
	}
}

func (rec *Recorder) isKeeping() bool { return rec.cfg.Writer != nil || rec.cfg.Observe != nil }

// pendingSave is an exchange on its way into the cassette.
type pendingSave struct {
	x      *exchange
	in     cassette.Interaction
	gate   error    // why the gate refused it
	masked []string // what the gate found and Mask took out
	lost   error    // why it cannot be saved for another reason
}

func (k *pendingSave) isSavable() bool { return k.gate == nil && k.lost == nil }

// isWithheld reports whether k could be saved but is too incomplete to be. A request without
// any reply is: it shows nothing that a provider did.
func (rec *Recorder) isWithheld(k *pendingSave) bool {
	switch {
	case rec.cfg.AllowIncomplete:
		return false
	case k.in.Incomplete == cassette.IncompleteNoReply:
		return true
	}
	return rec.cfg.WholeOnly && k.in.Incomplete != ""
}

// keepBatch redacts and checks a batch in parallel, then observes and saves it
// in order. A failure of one does not affect the others.
func (rec *Recorder) keepBatch(batch []*exchange) {
	all := make([]pendingSave, len(batch))
	runInParallel(len(batch), func(i int) {
		all[i].x = batch[i]
		all[i].lost = callGuarded(func() error { return rec.prepareSave(&all[i]) })
	})
	for i := range all {
		if k := &all[i]; k.isSavable() && rec.cfg.Observe != nil {
			k.lost = callGuarded(func() error { rec.cfg.Observe(k.in); return nil })
		}
	}
	rec.appendBatch(all)
	rec.addToReport(all)
	if batch[0].bodySize() > huge {
		clear(all)
		debug.FreeOSMemory() // one such body needs several times as much as everything else
	}
}

// huge is the size of the bodies of an interaction, in bytes, above which they are redacted in
// place, and memory is returned to the system at once after saving.
const huge = 32 << 20

// runInParallel calls f(0) … f(n-1) on half of the processors. The other half stays
// free for the clients.
func runInParallel(n int, f func(i int)) {
	workers := min(n, max(runtime.GOMAXPROCS(0)/2, 1))
	var wg sync.WaitGroup
	for first := range workers - 1 {
		wg.Go(func() {
			for i := first + 1; i < n; i += workers {
				f(i)
			}
		})
	}
	for i := 0; i < n; i += workers {
		f(i)
	}
	wg.Wait()
}

var errInternal = errors.New("internal error while saving")

// callGuarded returns f's error, or an error when f panicked. The panic value
// may quote the interaction, so it is dropped unless it is a runtime error.
func callGuarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errInternal
			if bug, ok := p.(runtime.Error); ok {
				err = fmt.Errorf("%w: %w", errInternal, bug)
			}
		}
	}()
	return f()
}

// prepareSave fills k.in with what may be saved.
func (rec *Recorder) prepareSave(k *pendingSave) error {
	if err := rec.redactAndCheck(k); err != nil || k.gate == nil {
		return err
	}
	// Another interaction of the batch may have taught the redactor and the gate what is
	// secret. Both get this one as it came: a gate that learns would take pseudonyms for
	// secrets.
	if err := rec.redactAndCheck(k); err != nil {
		return err
	}
	return rec.maskSecrets(k)
}

// redactAndCheck fills k.in with the exchange as it came, redacts it and asks the gate. A
// huge body is redacted where it is, and read from its spool anew when that is repeated.
func (rec *Recorder) redactAndCheck(k *pendingSave) error {
	k.in = cassette.Interaction{}
	in, err := k.x.buildInteraction(rec.cfg.MaxBody)
	if err != nil {
		return err
	}
	in.Incomplete = cassette.Judge(in)
	redact := rec.cfg.Redactor.Interaction
	if r, ok := rec.cfg.Redactor.(overwriter); ok && k.x.bodySize() > huge {
		in, redact = k.x.withOwnBodies(in), r.Overwrite
	}
	if k.in = redact(in); rec.cfg.Gate != nil {
		k.gate = rec.cfg.Gate(k.in)
	}
	return nil
}

// overwriter is a redactor that can change bodies where they are.
type overwriter interface {
	Overwrite(cassette.Interaction) cassette.Interaction
}

// maxMasked is how many secrets of one interaction are masked at most.
const maxMasked = 64

// maskSecrets masks what the gate finds, one secret after the other. It ends when the gate
// finds nothing more, or finds again what was just masked, which the redactor cannot reach.
func (rec *Recorder) maskSecrets(k *pendingSave) error {
	for n := 0; k.gate != nil && rec.cfg.Mask != nil && n < maxMasked; n++ {
		found := k.gate.Error()
		isNew := rec.cfg.Mask(k.gate) // false if another interaction of the batch had the same
		if !isNew && n > 0 && found == k.masked[n-1] {
			return nil
		}
		k.masked = append(k.masked, found)
		if err := rec.redactAndCheck(k); err != nil {
			return err
		}
	}
	return nil
}

// appendBatch appends every savable interaction with one write.
func (rec *Recorder) appendBatch(all []pendingSave) {
	if rec.cfg.Writer == nil {
		return
	}
	var fit []*pendingSave
	var ins []cassette.Interaction
	for i := range all {
		if k := &all[i]; k.isSavable() && !rec.isWithheld(k) {
			fit, ins = append(fit, k), append(ins, k.in)
		}
	}
	err := callGuarded(func() error {
		for i, err := range rec.cfg.Writer.AppendAll(ins) {
			fit[i].lost = err
		}
		return nil
	})
	if err != nil {
		for _, k := range fit {
			k.lost = err
		}
	}
}
