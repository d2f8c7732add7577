#!/usr/bin/env node
// An agent with LangChain: createAgent makes the rounds, ChatOpenAI speaks Chat Completions.
import { mapChatMessagesToStoredMessages, mapStoredMessagesToChatMessages } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, createMiddleware, tool } from 'langchain'
import { main, silence } from './loop.mjs'

await main('langchain', async ({ model = 'gpt-4.1', effort, system, prompt, history, tools, call, save }) => {
  const { signal, beat, stop } = silence()
  let last
  // A hook keeps the history: a stream that fails drops the states that are not read yet, so a loop that takes the
  // state from the stream loses results of tools.
  const keep = async ({ messages }) => {
    last = messages
    history.splice(0, Infinity, ...mapChatMessagesToStoredMessages(messages))
    await save()
  }
  const agent = createAgent({
    model: new ChatOpenAI({ model, maxRetries: 1, reasoning: effort && { effort } }), systemPrompt: system,
    tools: tools.map(t => tool(async args => (await call(t.name, args)).text, { name: t.name, description: t.description ?? '', schema: t.inputSchema })),
    middleware: [createMiddleware({ name: 'keep', beforeModel: keep, afterAgent: keep })],
  })
  const messages = [...mapStoredMessagesToChatMessages(history), { role: 'user', content: prompt }]
  try {
    // With the mode messages, replies are streamed. A round is three steps: the hook, the model, the tools.
    for await (const _ of await agent.stream({ messages }, { streamMode: 'messages', signal, recursionLimit: 60 })) beat()
  } finally {
    stop()
  }
  return last.at(-1).text // LangChain does not say here why a streamed reply ended
})
