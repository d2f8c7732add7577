#!/usr/bin/env node
// An agent with LangChain: createAgent makes the rounds, ChatOpenAI speaks Chat Completions.
import { mapChatMessagesToStoredMessages, mapStoredMessagesToChatMessages } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { main, silence } from './loop.mjs'

await main('langchain', async ({ model = 'gpt-4.1', effort, system, prompt, history, tools, call, save }) => {
  const { signal, beat, stop } = silence()
  const agent = createAgent({
    model: new ChatOpenAI({ model, maxRetries: 1, reasoning: effort && { effort } }), systemPrompt: system,
    tools: tools.map(t => tool(async args => (await call(t.name, args)).text, { name: t.name, description: t.description ?? '', schema: t.inputSchema })),
  })
  const messages = [...mapStoredMessagesToChatMessages(history), { role: 'user', content: prompt }]
  let last
  try {
    // With the mode messages, replies are streamed.
    for await (const [mode, state] of await agent.stream({ messages }, { streamMode: ['values', 'messages'], signal, recursionLimit: 40 })) {
      beat()
      if (mode !== 'values') continue
      last = state.messages
      history.splice(0, Infinity, ...mapChatMessagesToStoredMessages(last))
      await save()
    }
  } finally {
    stop()
  }
  return last.at(-1).text // LangChain does not say here why a streamed reply ended
})
