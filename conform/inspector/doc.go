// Package inspector writes what a run or a check found as one HTML file that needs no
// network, and shows the same page while a run goes on.
//
// A [Builder] collects cases and makes a [Page] of them, which is plain data; [Write]
// writes it as HTML, [WriteJSON] as the document that the page holds:
//
//	b := inspector.NewBuilder(inspector.Options{Redactor: redactor})
//	for _, c := range cases {
//		b.Add(inspector.Observation{Name: c.Name, Evidence: c.Evidence, Results: c.Results})
//	}
//	err := inspector.Write(w, b.Page(inspector.RunHead(run)))
//
// [Feed] is an HTTP handler that shows a page which still grows.
//
// Bodies are stored in chunks, each once, because requests repeat what was sent before.
// Everything that goes into a page passes the redactor first. With Options.Share, no
// content goes into the page at all: only lengths and keyed hashes.
//
// The page treats all text as text: it never makes markup of what an agent or a provider
// sent, and its content security policy allows no connection, or only to the server it
// came from. The package reads no clock and no file.
package inspector
