// Package scrub leaves out of a request what differs from run to run and does not matter: dates,
// folders, user names, random ids.
//
// A [Rule] is a name, a JSON path or a pattern:
//
//	date             a date in any usual spelling
//	folder           the folder in which the program ran
//	$..session_id    a member, by JSON path
//	/build-\d+/      what a regular expression (RE2) matches, in every text
//	$.system /v\d+/  the same, below a path only
//
// [Parse] reads a rule, and [Rules.Apply] applies several to a request body that was decoded from
// JSON. Two requests are the same under the rules if Apply returns the same for both. All
// functions are pure, except that Apply changes the body that it is given.
package scrub
