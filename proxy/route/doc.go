// Package route holds all that the proxy may know of the model providers: their
// hosts, what a call asks for, whether a reply is complete, and the shape of
// their errors. It is pure and reads bytes; it never changes them.
//
// Facts are from reference §1 (endpoints), §3 (streams) and §4 (errors).
package route
