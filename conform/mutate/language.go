package mutate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/tree"
)

// cursor is what a condition reads and a step changes: an item of a page, or the page
// itself.
type cursor struct {
	*page
	at int // ordinal of the item, -1 for the page
	// source is the exchange that a step takes something from, nil where a table names none.
	source *evidence.Exchange
	// host knows more items by name, nil for mutants.
	host interface {
		pickItem(c *cursor, name string) int
	}
}

func (c *cursor) theItem() *item {
	if c.at < 0 || c.at >= len(c.items) {
		return nil
	}
	return c.items[c.at]
}

// isAt evaluates a condition for the item with another ordinal.
func (c *cursor) isAt(at int, holds condition) bool {
	if at < 0 || at >= len(c.items) {
		return false
	}
	other := *c
	other.at = at
	return holds(&other)
}

// condition says whether a change fits.
type condition func(c *cursor) bool

// step changes one thing. It reports whether it could.
type step func(c *cursor) bool

// language is what tables of changes are written in: its named conditions, steps and
// functions of texts. See mutants.yaml for how they are used.
type language struct {
	conditions map[string]condition
	// families are conditions of the form NAME:ARGUMENT.
	families map[string]func(argument string) condition
	steps    map[string]step
	// verbs are steps that take the rest of the line.
	verbs map[string]func(rest string) step
	texts map[string]func(string) string
}

// parseConditions reads conditions that must all hold, apart by spaces. Each is one of
//
//	NAME            a named condition, or the kind of an item
//	PATH            something stands there; a path begins with . / ^ % : or @
//	PATH=TEXT       it is the text, or the JSON
//	PATH~REGEXP     it matches
//	next:C prev:C   C holds for the item beside this one
//	has:C           C holds for some item of the request
//	C|C             one of them holds
//	!C              it does not hold
func (l language) parseConditions(text string) (condition, error) {
	var all []condition
	for _, word := range strings.Fields(text) {
		c, err := l.parseCondition(word)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return func(c *cursor) bool {
		return !slices.ContainsFunc(all, func(holds condition) bool { return !holds(c) })
	}, nil
}

func (l language) parseCondition(word string) (condition, error) {
	if rest, isNot := strings.CutPrefix(word, "!"); isNot {
		inner, err := l.parseCondition(rest)
		return func(c *cursor) bool { return !inner(c) }, err
	}
	for prefix, shift := range map[string]int{"next:": 1, "prev:": -1} {
		if rest, found := strings.CutPrefix(word, prefix); found {
			inner, err := l.parseConditions(strings.ReplaceAll(rest, ",", " "))
			return func(c *cursor) bool { return c.isAt(c.at+shift, inner) }, err
		}
	}
	if rest, found := strings.CutPrefix(word, "has:"); found {
		inner, err := l.parseConditions(strings.ReplaceAll(rest, ",", " "))
		return func(c *cursor) bool { return c.findItem(inner) >= 0 }, err
	}
	if strings.ContainsAny(word[:1], "./^%:@") || otherItem.MatchString(word) {
		path, sign, want := word, "", ""
		if i := strings.IndexAny(word, "=~"); i >= 0 {
			path, sign, want = word[:i], word[i:i+1], word[i+1:]
		}
		pattern, err := regexp.Compile(want)
		return func(c *cursor) bool {
			value, ok := c.readText(path)
			switch sign {
			case "=":
				return ok && value == want
			case "~":
				return ok && pattern.MatchString(value)
			}
			return ok
		}, err
	}
	if name, argument, isFamily := strings.Cut(word, ":"); isFamily && l.families[name] != nil {
		return l.families[name](argument), nil
	}
	if first, rest, either := strings.Cut(word, "|"); either {
		a, errA := l.parseCondition(first)
		b, errB := l.parseCondition(rest)
		if errA != nil {
			return nil, errA
		}
		return func(c *cursor) bool { return a(c) || b(c) }, errB
	}
	if slices.Contains([]string{"text", "thinking", "hidden", "call", "result", "media", "other"}, word) {
		return func(c *cursor) bool { return c.theItem() != nil && c.theItem().kind == word }, nil
	}
	if named := l.conditions[word]; named != nil {
		return named, nil
	}
	return nil, fmt.Errorf("no condition is called %q", word)
}

// otherItem begins a path from another item.
var otherItem = regexp.MustCompile(`^[a-z-]+>`)

// findItem returns the ordinal of the first item for which a condition holds, -1 for none.
func (c *cursor) findItem(holds condition) int {
	for i := range c.items {
		if c.isAt(i, holds) {
			return i
		}
	}
	return -1
}

// findSpot resolves a path: from the item, or with / from the document, with ^ from the turn,
// with % from the members of a call or result, :NAME is a place of the provider.
// ITEM>PATH is a path from another item, see pickItem.
func (c *cursor) findSpot(path string) spot {
	if name, rest, isOther := strings.Cut(path, ">"); isOther {
		other := *c
		if other.at = c.pickItem(name); other.at < 0 {
			return spot{}
		}
		return other.findSpot(rest)
	}
	if rest, isName := strings.CutPrefix(path, ":"); isName {
		name, more := rest, ""
		if i := strings.IndexAny(rest, ".["); i >= 0 {
			name, more = rest[:i], rest[i:]
		}
		switch name {
		case "text":
			return textSpot(c.theItem())
		case "words":
			at := c.findSpot(":result")
			for range 3 {
				switch n := at.findNode(); {
				case n.Is(tree.String):
					return at
				case n.Is(tree.Array):
					i := slices.IndexFunc(n.Items(),
						func(part *tree.Node) bool { return part.Get("text").Is(tree.String) })
					at = spot{n, i, ""}.followPath("text")
				case n.Is(tree.Object):
					i := slices.IndexFunc(n.Names(), func(name string) bool { return name != "name" })
					at = spot{n, i, ""}
				}
			}
			return spot{}
		case "system":
			if c.provider == chat {
				return c.systemSpot().followPath(more)
			}
		}
		paths := formOf(c.provider).paths
		place := paths[name]
		if it := c.theItem(); it != nil {
			place = cmp.Or(paths[name+" of "+it.kind], place)
		}
		if place == "" {
			return spot{}
		}
		return c.findSpot(place).followPath(more)
	}
	base := rootSpot(c.doc)
	switch it := c.theItem(); {
	case strings.HasPrefix(path, "/"):
	case strings.HasPrefix(path, "^"):
		base = c.turnSpot(it)
	case strings.HasPrefix(path, "%"):
		base = rootSpot(ownFields(it.node))
	case it != nil && strings.Trim(path, ".") == "":
		base = it.currentSpot()
	case it != nil:
		base = rootSpot(it.ownMembers(c.provider))
	}
	return base.followPath(strings.TrimLeft(path, "./^%"))
}

// systemSpot returns where the first message of Chat Completions stands that gives instructions, with its content.
func (c *cursor) systemSpot() spot {
	list := c.findSpot(":turns").findNode()
	isSystem := func(n *tree.Node) bool { return n.Text("role") == "system" || n.Text("role") == "developer" }
	return spot{list, slices.IndexFunc(list.List(), isSystem), ""}.followPath("content")
}

// pickItem returns the ordinal of an item beside the one of the cursor, -1 for none: next, prev,
// the result of a call, the call that it answers, other (the first of its kind with another id),
// last, last-call, or one that the host knows.
func (c *cursor) pickItem(name string) int {
	it, found := c.theItem(), -1
	switch name {
	case "next", "prev":
		found = c.at + map[string]int{"next": 1, "prev": -1}[name]
	case "result":
		found = slices.IndexFunc(c.items, func(o *item) bool { return o == c.answerOf(it) })
	case "call":
		found = c.callOf(it)
	case "other":
		found = slices.IndexFunc(c.items,
			func(o *item) bool { return o.kind == it.kind && (o.id != it.id || o.itemID != it.itemID) })
	case "last":
		found = len(c.items) - 1
	case "last-call":
		found = c.lastCall()
	default:
		found = c.host.pickItem(c, name)
	}
	if found >= len(c.items) {
		return -1
	}
	return found
}

// answerOf returns the result of a call: by id, or by name and ordinal in the next turn.
func (p *page) answerOf(call *item) *item {
	ordinal := 0
	for _, o := range p.items {
		switch {
		case o.kind == "call" && o.turn == call.turn && o.inTurn < call.inTurn:
			ordinal++
		case o.kind != "result" || o.turn <= call.turn:
		case call.id != "" && o.id == call.id, call.id == "" && o.turn == call.turn+1 && o.name == call.name &&
			o.inTurn >= ordinal:
			return o
		}
	}
	return nil
}

// readText returns the text at a path, or its JSON. A path that begins with @ is of the exchange.
func (c *cursor) readText(path string) (value string, ok bool) {
	if !strings.HasPrefix(path, "@") {
		n := c.findSpot(path).findNode()
		if n.Is(tree.String) {
			return n.Text(), true
		}
		return n.Raw(), n != nil
	}
	x := c.theExchange()
	switch name, header := c.cutPath(path); name {
	case "header":
		if value = x.Request.Header.Get(header); header == "" && len(x.Request.Header) > 0 {
			value = "some"
		}
	case "answer":
		value = x.Response.Header.Get(header)
	case "url":
		value = x.Request.URL
	case "body":
		if value = string(x.Request.Body); c.doc != nil && string(encodeTree(c.doc)) != c.doc.Raw() {
			value = string(encodeTree(c.doc))
		}
	case "reply":
		value = string(x.Response.Body)
	case "status":
		value = strconv.Itoa(x.Response.Status)
	}
	return value, value != ""
}

// cutPath splits the path of a header; :key is the one that carries the provider's key.
func (c *cursor) cutPath(path string) (name, header string) {
	name, header, _ = strings.Cut(path[1:], ".")
	if header == ":key" {
		header = formOf(c.provider).credential
	}
	return name, header
}

// writeText sets what read returns.
func (c *cursor) writeText(path, value string) bool {
	x := c.theExchange()
	name, header := c.cutPath(path)
	switch name {
	case "header", "answer":
		headers := x.Request.Header
		if name == "answer" {
			headers = x.Response.Header
		}
		if headers == nil {
			return false
		}
		if headers.Del(header); value != "" {
			headers.Set(header, value)
		}
	case "url":
		x.Request.URL = value
	case "body":
		c.doc, x.Request.Body = nil, []byte(value) // nothing is left to commit
	case "reply":
		x.Response.Body, x.Response.Chunks = []byte(value), nil
	case "status":
		x.Response.Status, _ = strconv.Atoi(value)
	case "end":
		x.Response.End = value
	}
	return true
}

var holes = regexp.MustCompile(`\$\{[^}]*\}`)

// fillHoles puts the JSON at PATH in the place of ${PATH}, the text without its quotation marks
// in that of ${=PATH}, the ordinal of the exchange in that of ${#n} and of the item's turn in
// that of ${#turn}. It reports false where nothing is.
func (c *cursor) fillHoles(layout string) (*tree.Node, bool) {
	ok := true
	text := holes.ReplaceAllStringFunc(layout, func(hole string) string {
		switch path := hole[2 : len(hole)-1]; path[0] {
		case '@', '=':
			value, found := c.readText(strings.TrimPrefix(path, "="))
			ok = ok && found
			quoted := string(tree.Quote(value))
			if path[0] == '=' {
				quoted = quoted[1 : len(quoted)-1]
			}
			return quoted
		case '#':
			if path == "#n" {
				return strconv.Itoa(c.n)
			}
			return strconv.Itoa(c.theItem().turn)
		}
		path, from := strings.CutPrefix(hole[2:len(hole)-1], "<")
		n := c.findSpot(path).findNode()
		if from {
			n = rootSpot(readDocument(c.source)).followPath(strings.TrimPrefix(path, "/")).findNode()
		}
		if n == nil {
			ok = false
			return "null"
		}
		return string(encodeTree(n))
	})
	if !ok {
		return nil, false
	}
	return parseLiteral(text), true
}

// parseSteps reads the steps of a change, which must all succeed.
func (l language) parseSteps(lines []string) (step, error) {
	var all []step
	for _, line := range lines {
		s, err := l.parseStep(line)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		all = append(all, s)
	}
	return func(c *cursor) bool {
		return !slices.ContainsFunc(all, func(s step) bool { return !s(c) })
	}, nil
}

// parseStep reads one of
//
//	set PATH VALUE         VALUE is JSON, in which ${PATH} stands for what is there; for a
//	                       path that begins with @ it is a text
//	put PATH VALUE         the same, and makes the object that is to hold it
//	drop PATH              takes it away; drop? succeeds where nothing is
//	insert PATH VALUE      puts it before an element: [0], or [+] behind the last
//	edit PATH NAME         changes a text by a named function
//	edit PATH sub REGEXP TEXT   replaces what matches
//	edit PATH A B TEXT     puts TEXT in the place of the characters from A to B
//	slice PATH A B         keeps some elements
//	swap PATH PATH         exchanges two values
//	remove, double         the item, and its turn if nothing else is in it
//	before VALUE, after VALUE   beside the item
//	turn N ROLE TEXT       a turn behind (1) or before (0) that of the item
//	say ROLE TEXT          a turn at the end
//	first CONDITIONS: STEP the step for the first item for which they hold
//	tool CONDITIONS: STEP, tools CONDITIONS: STEP   the same with the declared tools for items
//	on ITEM: STEP          the step for another item, see pickItem
//	each CONDITIONS: STEP  the step for all of them
//	NAME                   a named step
//
// A line that ends in " ?" may fail. STEP || STEP takes the second one where the first fails.
func (l language) parseStep(line string) (step, error) {
	if first, second, isEither := strings.Cut(line, " || "); isEither {
		a, errA := l.parseStep(first)
		b, errB := l.parseStep(second)
		return func(c *cursor) bool { return a(c) || b(c) }, cmp.Or(errA, errB)
	}
	if must, mayFail := strings.CutSuffix(line, " ?"); mayFail {
		s, err := l.parseStep(must)
		return func(c *cursor) bool { s(c); return true }, err
	}
	if named := l.steps[line]; named != nil {
		return named, nil
	}
	verb, rest, _ := strings.Cut(line, " ")
	path, value, _ := strings.Cut(rest, " ")
	if l.verbs[verb] != nil {
		return l.verbs[verb](rest), nil
	}
	if number, isTool := map[string]string{"tool": "first ", "tools": "each "}[verb]; isTool {
		s, err := l.parseStep(number + rest)
		return func(c *cursor) bool {
			tools := *c.page
			tools.items = c.readTools()
			return s(&cursor{page: &tools, at: -1, host: c.host})
		}, err
	}
	switch verb {
	case "first", "each":
		conditions, then, _ := strings.Cut(rest, ": ")
		holds, err := l.parseConditions(conditions)
		if err != nil {
			return nil, err
		}
		s, err := l.parseStep(then)
		return func(c *cursor) bool {
			if verb == "first" {
				return c.isAt(c.findItem(holds), condition(s))
			}
			done := false
			for i := range c.items {
				done = c.isAt(i, holds) && c.isAt(i, condition(s)) || done
			}
			return done
		}, err
	case "on":
		name, then, _ := strings.Cut(rest, ": ")
		s, err := l.parseStep(then)
		return func(c *cursor) bool { return c.isAt(c.pickItem(name), condition(s)) }, err
	case "when":
		holds, err := l.parseConditions(rest)
		return step(holds), err
	case "set", "put", "insert", "before", "after":
		if strings.HasPrefix(path, "@") {
			return func(c *cursor) bool { return c.writeText(path, value) }, nil
		}
		if verb == "before" || verb == "after" {
			value = rest
		}
		return func(c *cursor) bool {
			v, ok := c.fillHoles(value)
			return ok && c.placeValue(verb, path, v)
		}, nil
	case "drop":
		if strings.HasPrefix(path, "@") {
			return func(c *cursor) bool {
				_, had := c.readText(path)
				return had && c.writeText(path, "")
			}, nil
		}
		return func(c *cursor) bool { return c.findSpot(path).removeNode() }, nil
	case "swap":
		return func(c *cursor) bool { return swapSpots(c.findSpot(path), c.findSpot(value)) }, nil
	case "slice":
		from, to, _ := strings.Cut(value, " ")
		return func(c *cursor) bool { return sliceList(c.findSpot(path).findNode(), from, to) }, nil
	case "turn":
		role, text, _ := strings.Cut(value, " ")
		return func(c *cursor) bool { return c.insertTurn(c.turnSpot(c.theItem()).at+int(path[0]-'0'), role, text) },
			nil
	case "say":
		return func(c *cursor) bool {
			return c.insertTurn(len(c.findSpot(":turns").findNode().List()), path, value)
		}, nil
	case "edit":
		edit, err := l.parseText(value)
		return func(c *cursor) bool { return c.editText(path, edit) }, err
	}
	return nil, fmt.Errorf("no step is called %q", verb)
}

// placeValue puts a value where a verb says.
func (c *cursor) placeValue(verb, path string, v *tree.Node) bool {
	switch verb {
	case "insert":
		return c.findSpot(path).insertNode(v)
	case "before", "after":
		at := c.theItem().currentSpot()
		at.at += map[string]int{"after": 1}[verb]
		return at.insertNode(v)
	}
	return c.setValue(path, v, verb == "put")
}

func (c *cursor) setValue(path string, v *tree.Node, makeHolder bool) bool {
	at := c.findSpot(path)
	if holder := path[:strings.LastIndexAny(path, ".:")+1]; at.parent == nil && makeHolder {
		if holder = strings.TrimSuffix(holder, "."); !c.setValue(holder, tree.NewObject(nil), false) {
			return false
		}
		at = c.findSpot(path)
	}
	return at.putNode(v)
}

func (c *cursor) insertTurn(at int, role, text string) bool {
	list := c.findSpot(":turns").findNode()
	return list != nil && spot{list, at, ""}.insertNode(parseLiteral(formOf(c.provider).turnText(role, text)))
}

func (c *cursor) editText(path string, edit func(string) string) bool {
	if strings.HasPrefix(path, "@") {
		old, _ := c.readText(path)
		now := edit(old)
		return now != old && c.writeText(path, now)
	}
	at := c.findSpot(path)
	if !at.findNode().Is(tree.String) {
		return false
	}
	now := edit(at.findNode().Text())
	return now != at.findNode().Text() && at.putNode(tree.NewString(now))
}

func sliceList(list *tree.Node, from, to string) bool {
	size := len(list.List())
	a, b := readPosition(from, size), readPosition(to, size)
	if a < 0 || b < a || b-a == size {
		return false
	}
	list.SetItems(list.Items()[a:b:b])
	return true
}
