// Package scrub leaves out of a request what differs from run to run although
// nobody means it: dates, folders, user names, random ids.
//
// A [Rule] is written as a name, or as a pattern of one's own:
//
//	date             a date in any usual spelling
//	folder           the folder in which the program ran
//	$..session_id    a member, by JSON path
//	/build-\d+/      what a regular expression (RE2) matches, in every text
//	$.system /v\d+/  the same, below a path only
//
// [Parse] reads a rule, and [Rules.Apply] applies several to a request body that
// was decoded from JSON. Two requests are the same under the rules if Apply makes
// the same of both. [Propose] finds rules from two recordings of one program. All
// functions are pure.
package scrub
