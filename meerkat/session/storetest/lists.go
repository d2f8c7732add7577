package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/meerkat/session"
)

func checkList(store session.Store) error {
	for n := range 4 {
		if err := createFilled(store, n); err != nil {
			return err
		}
	}
	_, w, err := store.Open(ctx, numberedHeader(1).ID)
	if err != nil {
		return err
	}
	late := session.Checkpoint{At: epoch.Add(24 * time.Hour), Reason: session.ReasonCompleted}
	if err := errors.Join(w.Append(ctx, late), w.Close()); err != nil {
		return err
	}
	for _, c := range []struct {
		filter session.Filter
		want   []int
	}{
		{session.Filter{}, []int{1, 3, 2, 0}},
		{session.Filter{Limit: 2}, []int{1, 3}},
		{session.Filter{Limit: 2, Offset: 3}, []int{0}},
		{session.Filter{Offset: 9}, nil},
		{session.Filter{CreatedAfter: numberedHeader(2).Created}, []int{3, 2}},
		{session.Filter{UpdatedAfter: numberedHeader(3).Created}, []int{1, 3}},
	} {
		if err := checkListed(store, c.filter, c.want); err != nil {
			return err
		}
	}
	return nil
}

// checkStablePages lists sessions that were all updated at the same time: each
// page must begin where the page before it ended.
func checkStablePages(store session.Store) error {
	const sessions = 5
	for n := range sessions {
		h := numberedHeader(n)
		h.Created = epoch
		w, err := store.Create(ctx, h)
		if err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	for n := range sessions {
		if err := checkListed(store, session.Filter{Offset: n, Limit: 1}, []int{sessions - 1 - n}); err != nil {
			return err
		}
	}
	return nil
}

// checkLatestTime requires that a session was updated at the latest time of any
// of its records, over several writers.
func checkLatestTime(store session.Store) error {
	if err := errors.Join(
		createFilled(store, 0),
		createFilled(store, 1, session.Annotation{At: epoch.Add(9 * time.Hour), Name: "late"}, userMessage("earlier")),
	); err != nil {
		return err
	}
	for range 2 {
		_, w, err := store.Open(ctx, numberedHeader(1).ID)
		if err != nil {
			return err
		}
		if err := errors.Join(w.Append(ctx, userMessage("earlier")), w.Close()); err != nil {
			return err
		}
	}
	got, err := store.Load(ctx, numberedHeader(1).ID)
	if err != nil {
		return err
	}
	infos, err := store.List(ctx, session.Filter{Limit: 1})
	if err != nil {
		return err
	}
	if want := epoch.Add(9 * time.Hour); len(infos) != 1 || infos[0].ID != numberedHeader(1).ID ||
		!infos[0].Updated.Equal(want) || !got.Updated.Equal(want) {
		return fmt.Errorf("List returned %+v; want session 1, updated %s", infos, want)
	}
	return nil
}

// checkListed returns an error unless List returns the sessions want, in order.
func checkListed(store session.Store, f session.Filter, want []int) error {
	infos, err := store.List(ctx, f)
	if err != nil {
		return err
	}
	var have, ids []session.ID
	for _, i := range infos {
		have = append(have, i.ID)
		if i.Problem != nil || i.Model != numberedHeader(0).Model || i.Updated.IsZero() {
			return fmt.Errorf("List returned %+v", i)
		}
	}
	for _, n := range want {
		ids = append(ids, numberedHeader(n).ID)
	}
	if !slices.Equal(have, ids) {
		return fmt.Errorf("List(%+v) = %v; want %v", f, have, ids)
	}
	return nil
}
