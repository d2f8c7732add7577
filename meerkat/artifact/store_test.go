package artifact_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/artifact"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// stores are the implementations of artifact.Store, each opened empty.
var stores = map[string]func(t *testing.T, o artifact.Options) artifact.Store{
	"memory": func(_ *testing.T, o artifact.Options) artifact.Store { return artifact.NewMemory(o) },
	"files": func(t *testing.T, o artifact.Options) artifact.Store {
		t.Helper()
		return artifact.NewFiles(filepath.Join(t.TempDir(), "a", "b"), o)
	},
}

// TestStore holds every store to the contract of artifact.Store: content byte for byte, who may
// read, time to live, limits, concurrency. Each check has a store of its own.
func TestStore(t *testing.T) {
	for name, open := range stores {
		for _, c := range storeChecks() {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				if err := c.try(newRig(func(o artifact.Options) artifact.Store { return open(t, o) })); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// storeCheck is one point of the contract. try returns how a store breaks it, nil if it
// does not.
type storeCheck struct {
	name string
	try  func(*rig) error
}

func storeChecks() []storeCheck {
	return []storeCheck{
		{"what is put is what is got, byte for byte", checkLossless},
		{"a reference describes its artifact", checkRef},
		{"forks and sub-agents read, others do not", checkReaders},
		{"only its own session lists and deletes it", checkOwner},
		{"what is stored and returned is the caller's own", checkNoAliasing},
		{"an artifact whose time is up is gone before it is swept", checkExpired},
		{"a permanent artifact stays", checkPermanent},
		{"a sweep removes what is up, and nothing else", checkSweep},
		{"an artifact has a largest size", checkMaxBytes},
		{"a session has a largest number of artifacts", checkMaxPerSession},
		{"all artifacts together have a largest size", checkMaxTotal},
		{"what is up takes no room", checkExpiredRoom},
		{"deleted is gone", checkDelete},
		{"a list begins with the oldest", checkList},
		{"an ended context does nothing", checkContext},
		{"limits hold under concurrency", checkConcurrent},
		{"an id that is not an id is refused", checkBadIDs},
	}
}

// The sessions of the checks: grandparent, parent and child descend from one another.
const (
	grandparent session.ID = "0199a2b4-0000-7000-8000-000000000001"
	parent      session.ID = "0199a2b4-0000-7000-8000-000000000002"
	child       session.ID = "0199a2b4-0000-7000-8000-000000000003"
	other       session.ID = "0199a2b4-0000-7000-8000-000000000004"
)

var (
	ctx   = context.Background()
	epoch = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
)

// rig is a store and its clock.
type rig struct {
	artifact.Store
	open func(artifact.Options) artifact.Store
	mu   sync.Mutex
	now  time.Time
}

func newRig(open func(artifact.Options) artifact.Store) *rig {
	r := &rig{open: open, now: epoch}
	return r.openWith(artifact.Limits{})
}

// openWith opens the store with limits.
func (r *rig) openWith(l artifact.Limits) *rig {
	r.Store = r.open(artifact.Options{Limits: l, Now: r.readClock,
		Ancestors: func(_ context.Context, id session.ID) ([]session.ID, error) {
			return map[session.ID][]session.ID{child: {parent, grandparent}, parent: {grandparent}}[id], nil
		}})
	return r
}

func (r *rig) readClock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rig) advanceClock(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

// putTexts stores texts in the session and returns their references.
func (r *rig) putTexts(owner session.ID, ttl time.Duration, texts ...string) ([]artifact.Ref, error) {
	refs := make([]artifact.Ref, 0, len(texts))
	for _, text := range texts {
		ref, err := r.Put(ctx, owner, []byte(text), ttl)
		if err != nil {
			return nil, fmt.Errorf("Put: %w", err)
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// expectList returns an error unless the session lists these artifacts.
func (r *rig) expectList(owner session.ID, want ...artifact.Ref) error {
	got, err := r.List(ctx, owner)
	if err != nil || !slices.EqualFunc(got, want, sameRef) {
		return fmt.Errorf("List: %+v, %v; want %+v", got, err, want)
	}
	return nil
}

func sameRef(a, b artifact.Ref) bool {
	ttl := a.TTL == b.TTL || a.TTL != nil && b.TTL != nil && *a.TTL == *b.TTL
	return ttl && a.ID == b.ID && a.Session == b.Session && a.Size == b.Size && a.Version == b.Version &&
		a.Created.Equal(b.Created)
}

func checkLossless(r *rig) error {
	for _, text := range []string{"", "\x00", "\xff\xfe no text", "line\r\n", strings.Repeat("{\"a\":1}\n", 1<<15)} {
		refs, err := r.putTexts(parent, 0, text)
		if err != nil {
			return err
		}
		data, ref, err := r.Get(ctx, parent, refs[0].ID)
		if err != nil || string(data) != text || !sameRef(ref, refs[0]) {
			return fmt.Errorf(
				"Get: %d bytes %.20q, %+v, %v; want %d bytes %.20q, %+v", len(data), data, ref, err, len(text), text,
				refs[0],
			)
		}
	}
	return nil
}

func checkRef(r *rig) error {
	for ttl, want := range map[time.Duration]int64{
		0: 86400, time.Second: 1, time.Nanosecond: 1, 1500 * time.Millisecond: 2, time.Hour: 3600,
	} {
		refs, err := r.putTexts(parent, ttl, "four")
		if err != nil {
			return err
		}
		ref := refs[0]
		id, err := artifact.ParseID(string(ref.ID))
		switch {
		case err != nil || id.Session() != parent:
			return fmt.Errorf("the id %q does not begin with its session: %v", ref.ID, err)
		case ref.Session != parent || ref.Size != 4 || ref.Version != artifact.Version || !ref.Created.Equal(epoch):
			return fmt.Errorf("it is described as %+v", ref)
		case ref.TTL == nil || *ref.TTL != want:
			return fmt.Errorf("its time to live for %v is %+v; want %d seconds", ttl, ref, want)
		}
	}
	return nil
}

func checkReaders(r *rig) error {
	refs := map[session.ID]artifact.ID{}
	for _, owner := range []session.ID{grandparent, parent, child, other} {
		put, err := r.putTexts(owner, 0, string(owner))
		if err != nil {
			return err
		}
		refs[owner] = put[0].ID
	}
	allowed := map[session.ID][]session.ID{
		grandparent: {grandparent}, parent: {parent, grandparent}, child: {child, parent, grandparent}, other: {other},
		"": {},
	}
	for reader, owners := range allowed {
		for owner, id := range refs {
			data, _, err := r.Get(ctx, reader, id)
			if may := slices.Contains(owners, owner); may && (err != nil || string(data) != string(owner)) || !may &&
				!errors.Is(err, artifact.ErrNotFound) {
				return fmt.Errorf("session %s reads that of %s: %q, %v", reader, owner, data, err)
			}
		}
	}
	return nil
}

func checkOwner(r *rig) error {
	refs, err := r.putTexts(parent, 0, "a")
	if err != nil {
		return err
	}
	for _, who := range []session.ID{grandparent, child, other} {
		if err := r.expectList(who); err != nil {
			return err
		}
		if err := r.Delete(ctx, who, refs[0].ID); !errors.Is(err, artifact.ErrNotFound) {
			return fmt.Errorf("session %s deletes that of %s: %v", who, parent, err)
		}
	}
	return r.expectList(parent, refs...)
}

func checkNoAliasing(r *rig) error {
	given := []byte("before")
	ref, err := r.Put(ctx, parent, given, 0)
	if err != nil {
		return err
	}
	copy(given, "AFTER!")
	for range 2 {
		data, _, err := r.Get(ctx, parent, ref.ID)
		if err != nil || !bytes.Equal(data, []byte("before")) {
			return fmt.Errorf("Get: %q, %v; the caller's own slice changed it", data, err)
		}
		copy(data, "AFTER!")
	}
	return nil
}

func checkExpired(r *rig) error {
	refs, err := r.putTexts(parent, time.Minute, "a")
	if err != nil {
		return err
	}
	r.advanceClock(time.Minute - 1)
	if err := r.expectList(parent, refs...); err != nil {
		return fmt.Errorf("before its time: %w", err)
	}
	r.advanceClock(1)
	if data, _, err := r.Get(ctx, parent, refs[0].ID); !errors.Is(err, artifact.ErrNotFound) {
		return fmt.Errorf("Get: %q, %v; want ErrNotFound", data, err)
	}
	if err := r.Delete(ctx, parent, refs[0].ID); !errors.Is(err, artifact.ErrNotFound) {
		return fmt.Errorf("Delete: %v; want ErrNotFound", err)
	}
	return r.expectList(parent)
}

func checkPermanent(r *rig) error {
	refs, err := r.putTexts(parent, artifact.Permanent, "a")
	if err != nil || refs[0].TTL != nil {
		return fmt.Errorf("%+v, %v; want no time to live", refs, err)
	}
	r.advanceClock(100 * 365 * 24 * time.Hour)
	if n, err := r.Sweep(ctx, r.readClock()); n != 0 || err != nil {
		return fmt.Errorf("Sweep: %d, %v", n, err)
	}
	return r.expectList(parent, refs...)
}

func checkSweep(r *rig) error {
	if n, err := r.Sweep(ctx, epoch); n != 0 || err != nil {
		return fmt.Errorf("Sweep of an empty store: %d, %v", n, err)
	}
	short, err := r.putTexts(parent, time.Minute, "a", "b")
	if err != nil {
		return err
	}
	long, err := r.putTexts(other, time.Hour, "c")
	if err != nil {
		return err
	}
	for i, want := range []int{0, 2, 0} {
		if n, err := r.Sweep(ctx, epoch.Add(time.Minute-1+time.Duration(i))); n != want || err != nil {
			return fmt.Errorf("Sweep %d: %d, %v; want %d", i, n, err, want)
		}
	}
	for _, ref := range short {
		if _, _, err := r.Get(ctx, parent, ref.ID); !errors.Is(err, artifact.ErrNotFound) {
			return fmt.Errorf("swept, and yet: %v", err)
		}
	}
	return r.expectList(other, long...)
}

// checkRefusal returns an error unless err names the limit.
func checkRefusal(err error, want artifact.Limit) error {
	var limit *artifact.LimitError
	if !errors.As(err, &limit) || limit.Limit != want || limit.Want <= limit.Max ||
		!strings.Contains(err.Error(), string(want)) {
		return fmt.Errorf("%v; want a *LimitError of %s", err, want)
	}
	return nil
}

func checkMaxBytes(r *rig) error {
	r.openWith(artifact.Limits{MaxBytes: 4})
	refs, err := r.putTexts(parent, 0, "four")
	if err != nil {
		return err
	}
	_, err = r.putTexts(parent, 0, "five!")
	return errors.Join(checkRefusal(err, artifact.LimitBytes), r.expectList(parent, refs...))
}

func checkMaxPerSession(r *rig) error {
	r.openWith(artifact.Limits{MaxPerSession: 1})
	refs, err := r.putTexts(parent, 0, "a")
	if err != nil {
		return err
	}
	_, full := r.putTexts(parent, 0, "b")
	_, err = r.putTexts(other, 0, "c")
	return errors.Join(checkRefusal(full, artifact.LimitPerSession), err, r.expectList(parent, refs...))
}

func checkMaxTotal(r *rig) error {
	r.openWith(artifact.Limits{MaxTotalBytes: 5})
	refs, err := r.putTexts(parent, 0, "four")
	if err != nil {
		return err
	}
	_, full := r.putTexts(other, 0, "22")
	_, err = r.putTexts(other, 0, "1")
	return errors.Join(checkRefusal(full, artifact.LimitTotalBytes), err, r.expectList(parent, refs...))
}

func checkExpiredRoom(r *rig) error {
	r.openWith(artifact.Limits{MaxPerSession: 1, MaxTotalBytes: 4})
	if _, err := r.putTexts(parent, time.Minute, "four"); err != nil {
		return err
	}
	r.advanceClock(time.Minute)
	_, err := r.putTexts(parent, time.Minute, "more")
	return err
}

func checkDelete(r *rig) error {
	r.openWith(artifact.Limits{MaxPerSession: 2})
	refs, err := r.putTexts(parent, 0, "a", "b")
	if err != nil {
		return err
	}
	if err := r.Delete(ctx, parent, refs[0].ID); err != nil {
		return err
	}
	if err := r.Delete(ctx, parent, refs[0].ID); !errors.Is(err, artifact.ErrNotFound) {
		return fmt.Errorf("deleted twice: %v", err)
	}
	if _, _, err := r.Get(ctx, parent, refs[0].ID); !errors.Is(err, artifact.ErrNotFound) {
		return fmt.Errorf("deleted, and yet: %v", err)
	}
	if err := r.expectList(parent, refs[1]); err != nil {
		return err
	}
	_, err = r.putTexts(parent, 0, "c") // in its room
	return err
}

func checkList(r *rig) error {
	var refs []artifact.Ref
	for range 5 {
		put, err := r.putTexts(parent, 0, "a")
		if err != nil {
			return err
		}
		refs = append(refs, put...)
		r.advanceClock(time.Second)
	}
	return errors.Join(r.expectList(parent, refs...), r.expectList(other))
}

func checkContext(r *rig) error {
	refs, err := r.putTexts(parent, time.Minute, "a")
	if err != nil {
		return err
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	_, putErr := r.Put(over, parent, []byte("b"), 0)
	_, _, getErr := r.Get(over, parent, refs[0].ID)
	_, listErr := r.List(over, parent)
	_, sweepErr := r.Sweep(over, epoch.Add(time.Hour))
	for name, err := range map[string]error{
		"Put": putErr, "Get": getErr, "List": listErr, "Sweep": sweepErr, "Delete": r.Delete(over, parent, refs[0].ID),
	} {
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%s: %v; want that of the context", name, err)
		}
	}
	return r.expectList(parent, refs...)
}

func checkConcurrent(r *rig) error {
	const most = 8
	r.openWith(artifact.Limits{MaxPerSession: most})
	var wait sync.WaitGroup
	var mu sync.Mutex
	var failures []error
	ids := map[artifact.ID]bool{}
	for range 3 * most {
		wait.Go(func() {
			ref, err := r.Put(ctx, parent, []byte("a"), 0)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failures = append(failures, checkRefusal(err, artifact.LimitPerSession))
				return
			}
			ids[ref.ID] = true
		})
	}
	wait.Wait()
	refs, err := r.List(ctx, parent)
	if len(refs) != most || len(ids) != most {
		err = errors.Join(err, fmt.Errorf("%d are listed, %d were put; the limit is %d", len(refs), len(ids), most))
	}
	return errors.Join(append(failures, err)...)
}

func checkBadIDs(r *rig) error {
	for _, id := range []artifact.ID{
		"", "x", "../../x", artifact.ID(parent), artifact.ID(parent) + "./../../../x",
		artifact.ID(parent) + ".0123456789abcdeF", artifact.ID("../"+parent) + ".0123456789abcdef",
	} {
		_, _, err := r.Get(ctx, parent, id)
		for name, err := range map[string]error{"Get": err, "Delete": r.Delete(ctx, parent, id)} {
			if !errors.Is(err, artifact.ErrNotFound) {
				return fmt.Errorf("%s of %q: %v; want ErrNotFound", name, id, err)
			}
		}
	}
	for _, owner := range []session.ID{"", "..", "../" + parent, parent + "/.."} {
		_, err := r.Put(ctx, owner, nil, 0)
		_, lerr := r.List(ctx, owner)
		if err == nil || lerr == nil {
			return fmt.Errorf("session %q: Put %v, List %v; want an error", owner, err, lerr)
		}
	}
	return nil
}
