package record

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

const (
	// maxWaiting is how many bytes of ended exchanges may wait in memory to be saved. Beyond it the
	// ends of replies, never their other bytes, wait for the disk.
	maxWaiting = 64 << 20
	// batchBytes and batchCount bound what is saved with one write. A batch is in memory
	// several times over while it is saved, and the ends of its replies wait for all of it:
	// with small batches the first clients go on earlier.
	batchBytes, batchCount = 8 << 20, 8
	// holdBytes is the length up to which an exchange is saved before its client
	// sees the end of the reply, and holdTime the longest that this may take.
	holdBytes, holdTime = 1 << 20, 5 * time.Second
	// huge is the size of the bodies of an exchange, in bytes, above which they are redacted in
	// place, and memory is returned to the system at once after saving.
	huge = 32 << 20
	// maxMasked is how many secrets of one exchange are masked at most.
	maxMasked = 64
)

// saver saves the exchanges that have ended, in the order in which they ended. One that ends while
// nothing is saved is saved at once. What ends meanwhile waits for a goroutine of lower priority, so
// that the bytes of other clients go first, and is saved in batches: the longer saving takes, the
// more exchanges share one write. Its methods are safe for concurrent use.
type saver struct {
	save func(batch []*exchange)

	mu        sync.Mutex
	change    sync.Cond
	waiting   []*exchange
	held      int  // bytes of memory that those hold
	isRunning bool // a batch is being saved
	isHanded  bool // saveWaiting is to save the next one
	isClosed  bool
}

func newSaver(save func(batch []*exchange)) *saver {
	s := &saver{save: save}
	s.change.L = &s.mu
	go s.saveWaiting()
	return s
}

// put passes an exchange on. Its field saved is closed when it is saved, or cannot be.
func (s *saver) put(x *exchange) {
	size := x.memoryHeld()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.held > 0 && s.held+size > maxWaiting {
		s.change.Wait()
	}
	s.waiting, s.held = append(s.waiting, x), s.held+size
	if s.isRunning {
		return
	}
	s.isRunning = true
	go func() {
		s.saveBatch(s.takeBatch())
		s.mu.Lock()
		defer s.mu.Unlock()
		s.isRunning = len(s.waiting) > 0
		s.isHanded = s.isRunning
		s.change.Broadcast()
	}()
}

// saveWaiting saves what waits, each time that put's goroutine leaves something, until close.
func (s *saver) saveWaiting() {
	lowerPriority()
	for {
		s.mu.Lock()
		for !s.isHanded && !s.isClosed {
			s.change.Wait()
		}
		if s.isClosed {
			s.mu.Unlock()
			return
		}
		s.isHanded = false
		s.mu.Unlock()
		for batch := s.takeBatch(); len(batch) > 0; batch = s.takeBatch() {
			s.saveBatch(batch)
		}
	}
}

func (s *saver) saveBatch(batch []*exchange) {
	s.save(batch)
	for _, x := range batch {
		close(x.saved)
		x.close()
	}
}

// close returns when nothing waits any more.
func (s *saver) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.isRunning {
		s.change.Wait()
	}
	s.isClosed = true
	s.change.Broadcast()
}

// takeBatch returns the exchanges that have waited longest, none when there are none. One that is
// larger than a batch comes alone.
func (s *saver) takeBatch() (batch []*exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var total int64
	for _, x := range s.waiting {
		if total += x.bodySize(); len(batch) > 0 && (total > batchBytes || len(batch) == batchCount) {
			break
		}
		batch = append(batch, x)
		s.held -= x.memoryHeld()
	}
	s.waiting, s.isRunning = s.waiting[len(batch):], len(batch) > 0
	s.change.Broadcast()
	return batch
}

func (rec *Recorder) isKeeping() bool { return rec.cfg.Writer != nil || rec.cfg.Observe != nil }

// outcome is what the stages of saving make of an exchange.
type outcome struct {
	in      cassette.Interaction // with its bodies, redacted
	refusal error                // why the gate refused it
	masked  []string             // what the gate found and Mask took out
	lost    error                // why it cannot be saved for another reason
	// isWritten says that a large stream is in the journal already, as far as it may be.
	isWritten bool
}

func (o *outcome) isSavable() bool { return o.refusal == nil && o.lost == nil }

// saveBatch takes a batch through the stages: it is judged, redacted and passed through the gate in
// parallel, then observed, written to the journal and reported in order. A failure of one exchange
// does not affect the others.
func (rec *Recorder) saveBatch(batch []*exchange) {
	runInParallel(len(batch), func(i int) {
		x := batch[i]
		x.out.lost = callGuarded(func() error { return rec.prepare(x) })
	})
	for _, x := range batch {
		if x.out.isSavable() && rec.cfg.Observe != nil {
			x.out.lost = callGuarded(func() error { rec.cfg.Observe(x.out.in); return nil })
		}
	}
	rec.writeBatch(batch)
	for _, x := range batch {
		rec.report.add(x, &rec.cfg)
		x.out = outcome{}
	}
	if batch[0].bodySize() > huge {
		debug.FreeOSMemory() // one such body needs several times as much as everything else
	}
}

// prepare fills x.out with what may be saved.
func (rec *Recorder) prepare(x *exchange) error {
	if rec.isLargeStream(x) {
		if err := rec.saveLarge(x); !errors.Is(err, errNotText) {
			x.out.isWritten = true
			return err
		}
	}
	if err := rec.redactAndCheck(x); err != nil || x.out.refusal == nil {
		return err
	}
	// An exchange that was saved at the same time may have taught the redactor and the gate what is
	// secret. Both get this one as it came: a gate that learns would take pseudonyms for secrets.
	if err := rec.redactAndCheck(x); err != nil {
		return err
	}
	return rec.maskSecrets(x)
}

// redactAndCheck judges the exchange as it came, redacts it and asks the gate. A huge body is
// redacted where it is, and read from its spool anew when that is repeated.
func (rec *Recorder) redactAndCheck(x *exchange) error {
	x.out.in, x.out.refusal = cassette.Interaction{}, nil
	in, err := x.buildInteraction(rec.cfg.MaxBody)
	if err != nil {
		return err
	}
	in.Incomplete = cassette.Judge(in)
	redact := rec.cfg.Redactor.Interaction
	r, canOverwrite := rec.cfg.Redactor.(interface {
		Overwrite(cassette.Interaction) cassette.Interaction
	})
	if canOverwrite && x.bodySize() > huge {
		in, redact = x.withOwnBodies(in), r.Overwrite
	}
	if x.out.in = redact(in); rec.cfg.Gate != nil {
		x.out.refusal = rec.cfg.Gate(x.out.in)
	}
	return nil
}

// maskSecrets masks what the gate finds, one secret after the other. It ends when the gate
// finds nothing more, or finds again what was just masked, which the redactor cannot reach.
func (rec *Recorder) maskSecrets(x *exchange) error {
	for n := 0; x.out.refusal != nil && rec.cfg.Mask != nil && n < maxMasked; n++ {
		found := x.out.refusal.Error()
		isNew := rec.cfg.Mask(x.out.refusal) // false if another exchange of the batch had the same
		if !isNew && n > 0 && found == x.out.masked[n-1] {
			return nil
		}
		x.out.masked = append(x.out.masked, found)
		if err := rec.redactAndCheck(x); err != nil {
			return err
		}
	}
	return nil
}

// writeBatch writes every exchange that can be saved to the journal, with one write.
func (rec *Recorder) writeBatch(batch []*exchange) {
	if rec.cfg.Writer == nil {
		return
	}
	var fit []*exchange
	var ins []cassette.Interaction
	for _, x := range batch {
		if x.out.isSavable() && !x.out.isWritten && !rec.cfg.withholds(&x.out.in) {
			fit, ins = append(fit, x), append(ins, x.out.in)
		}
	}
	var errs []error
	err := callGuarded(func() error { errs = rec.cfg.Writer.AppendAll(ins); return nil })
	for i, x := range fit {
		if x.out.lost = err; err == nil {
			x.out.lost = errs[i]
		}
	}
}

// withholds reports whether an interaction could be saved but is too incomplete to be. A request
// without any reply is: it shows nothing that a provider did.
func (cfg *Config) withholds(in *cassette.Interaction) bool {
	if cfg.AllowIncomplete {
		return false
	}
	return in.Incomplete == cassette.IncompleteNoReply || cfg.WholeOnly && in.Incomplete != ""
}

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

// LastLook is for [cassette.Writer.Revise]: it redacts and checks interactions again that were
// written before a secret became known, because they may hold it. again does that, for the
// first interactions of the recording, as many as first says. Where every secret was known
// in time, again is nil.
//
// first counts the interactions that were redacted or checked before the last secret became
// known, and as many as a Recorder saves in one batch: these may be written in another order.
func LastLook(
	redactor interface {
		Late() int
		Interaction(cassette.Interaction) cassette.Interaction
	},
	gate interface {
		Late() int
		Check(cassette.Interaction) error
	},
) (again func(cassette.Interaction) (cassette.Interaction, error), first int) {
	late := max(redactor.Late(), gate.Late())
	if late == 0 {
		return nil, 0
	}
	return func(in cassette.Interaction) (cassette.Interaction, error) {
		in = redactor.Interaction(in)
		return in, gate.Check(in)
	}, late + batchCount
}
