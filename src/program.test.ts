import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadProgram } from './program.ts'

test('every command has examples, which use flags that it has', async () => {
  const { commands, commonFlags } = await loadProgram({ run: async () => 0, completion: async () => [] })

  for (const { words, examples, flags = [], run, hidden } of commands) {
    if (run === undefined || hidden) continue
    const line = ['adit', ...words].join(' ')
    assert.ok(examples !== undefined, `no examples: ${line}`)
    const own = typeof flags === 'function' ? await flags() : flags
    const known = [...own, ...commonFlags].flatMap(({ name, short }) => [`--${name}`, `-${short}`])
    for (const [example] of examples) {
      assert.ok(example.includes(line), example)
      for (const flag of example.match(/(?<= )--?[a-z][a-z-]*/g) ?? [])
        assert.ok(known.includes(flag), example)
    }
  }
})
