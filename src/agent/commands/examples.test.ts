import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Command } from 'commander'
import { createProgram } from '../command-line/program.ts'
import { EXAMPLES } from './examples.ts'
import * as endpointFlags from './flags.ts'

test('every command has examples, which use flags that it has', () => {
  const leaves = (command: Command, path: string[]): [Command, string[]][] =>
    command.commands.length === 0
      ? [[command, path]]
      : command.commands.flatMap((each) => leaves(each, [...path, each.name()]))
  const program = createProgram({ code: 0 }, endpointFlags)

  for (const [command, path] of leaves(program, [])) {
    // These two have a help of their own, and this one is for the service manager.
    if (['api', 'server', 'service run'].includes(path.join(' '))) continue
    const examples = EXAMPLES[path.join(' ')] ?? assert.fail(`no examples: ${path.join(' ')}`)
    const known = [...command.options, ...program.options].flatMap(({ long, short }) => [long, short])
    for (const [line] of examples) {
      assert.ok(line.includes(`adit ${path.join(' ')}`), line)
      for (const flag of line.match(/(?<= )--?[a-z][a-z-]*/g) ?? []) assert.ok(known.includes(flag), line)
    }
  }
})
