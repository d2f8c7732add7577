// Package session stores conversations as append-only lists of records.
//
// A [Record] is one fact: a message, the cost of a model call, the start of a
// tool, the end of a run. A [Session] is what the records of one conversation
// add up to. A [Store] keeps them: [MemoryStore] for as long as the process
// lives, package jsonl in files, package sqlstore in a database.
//
//	store := session.NewMemoryStore()
//	w, err := store.Create(ctx, session.Header{Version: session.Version, ID: id, Created: now})
//	err = w.Append(ctx, session.MessageRecord{At: now, Message: transcript.User("hello")})
//	err = w.Close()
//	s, err := store.Load(ctx, id) // s.Messages holds the message
//
// [Limits] bound what a session may spend over all its runs. [WriteJSONL]
// exports what a user saw, and package page shows it.
//
// The package promises: a store only appends, one process at a time writes a
// session, a crash loses at most the record that was being written, and a
// damaged record is an error instead of a shorter conversation. The stored form
// is one JSON object a line, see [AppendRecord], tied to the line before it, see
// [Chain]; deltas of a stream are never stored.
package session
