package bench

import (
	"math/rand/v2"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// dropPair removes a call and its result.
func dropPair(p *page, b *block, _ *rand.Rand) bool {
	result := answerTo(p.provider, p.blocks, b)
	if result == nil || result.turn == p.blocks[len(p.blocks)-1].turn {
		return false // the request would be one that was sent before
	}
	p.dropBlock(result)
	p.dropBlock(b)
	return true
}

// inventPair adds a call that the model never made, with a result.
func inventPair(p *page, b *block, _ *rand.Rand) bool {
	result := answerTo(p.provider, p.blocks, b)
	if result == nil {
		return false
	}
	call, answer := b.node.deepCopy(), result.node.deepCopy()
	if !p.insertBeside(result, 1, answer) || !p.insertBeside(b, 1, call) {
		return false
	}
	fresh := &block{kind: callBlock, node: call}
	fresh.node.removeKey("thoughtSignature")
	fresh.node.removeKey("thought_signature")
	call.removeKey("cache_control")
	answer.removeKey("cache_control")
	if p.provider == evidence.OpenAI {
		call.removeKey("id")
		answer.removeKey("id")
	}
	if b.id != "" {
		p.setID(fresh, freshID(b.id))
		p.setID(&block{kind: resultBlock, node: answer}, freshID(b.id))
	}
	return true
}

// freshID is an id of the same form as id.
func freshID(id string) string {
	if len(id) < 4 {
		return id + "X9"
	}
	return id[:len(id)-3] + "X9z"
}

// editObject applies edit to the arguments object of a call.
func editObject(p *page, b *block, edit func(args *node) bool) bool {
	holder, key := p.argumentsOf(b)
	value := holder.at(key)
	if value.isObject() {
		return edit(value)
	}
	args, ok := parseJSON([]byte(value.stringValue()))
	if !ok || !args.isObject() || !edit(args) {
		return false
	}
	holder.setMember(key, stringNode(string(args.encodeJSON())))
	return true
}

func editArguments(p *page, b *block, r *rand.Rand) bool {
	return editObject(p, b, func(args *node) bool {
		if args.countMembers() == 0 {
			return false
		}
		m := &args.members[r.IntN(args.countMembers())]
		switch {
		case m.value.isString():
			m.value = stringNode(m.value.stringValue() + " instead")
		case m.value.kind == '0':
			m.value = parseLiteral("7319")
		default:
			m.value = parseLiteral(`"changed"`)
		}
		return true
	})
}

func emptyArguments(p *page, b *block, _ *rand.Rand) bool {
	return editObject(p, b, func(args *node) bool {
		had := args.countMembers() > 0
		args.members = nil
		return had
	})
}

func dropArgument(p *page, b *block, r *rand.Rand) bool {
	return editObject(p, b, func(args *node) bool {
		if args.countMembers() < 2 {
			return false
		}
		args.removeAt(r.IntN(args.countMembers()))
		return true
	})
}

func addArgument(p *page, b *block, _ *rand.Rand) bool {
	return editObject(p, b, func(args *node) bool {
		args.setMember("force_everything", parseLiteral("true"))
		return true
	})
}

func renameCall(p *page, b *block, _ *rand.Rand) bool {
	holder := b.node
	if call, _ := b.node.firstOf("functionCall", "function_call"); call != nil {
		holder = call
	}
	if b.name == "" {
		return false
	}
	holder.setMember("name", stringNode(b.name+"_v2"))
	return true
}

func rewriteResult(p *page, b *block, _ *rand.Rand) bool {
	return setResult(p, b, "something else entirely")
}

func clearResult(p *page, b *block, _ *rand.Rand) bool {
	return setResult(p, b, "[Old tool result content cleared]")
}

func setResult(p *page, b *block, text string) bool {
	holder, key := p.resultBody(b)
	if holder == nil {
		return false
	}
	v := stringNode(text)
	if p.provider == evidence.Gemini {
		v = parseLiteral(`{"output":` + string(v.raw) + `}`)
	}
	holder.setMember(key, v)
	return true
}
