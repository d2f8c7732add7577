// Package session holds what a conversation leaves behind: an append-only list
// of records, the Session they add up to, and the Store that keeps them.
//
// A Session is a fold over its records and nothing else (DESIGN §3.9), so a
// store only ever appends. Deltas of a stream are never records. The format is
// one JSON object per line, see AppendRecord; stores may share it.
package session
