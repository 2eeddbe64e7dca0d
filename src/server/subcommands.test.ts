import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findCommand } from '../base/command-line.ts'
import { readSettings } from './settings.ts'
import { subcommands } from './subcommands.ts'

test('a subcommand without its argument says what to write', async () => {
  const settings = readSettings([], { HOME: '/nonexistent' })
  for (const [line, sentence] of [
    ['account create', 'Give the new account a name: adit server account create NAME.'],
    ['user password', 'Name the user: adit server user password EMAIL.'],
    ['events dead', 'Name the destination: adit server events dead ed_….'],
    ['events replay', 'Name the destination: adit server events replay ed_….'],
    ['backup', 'Say where to: adit server backup FILE.'],
    ['restore', 'Say from where: adit server restore FILE.'],
  ] as const)
    await assert.rejects(
      async () => findCommand(subcommands, line.split(' ')).command?.run([], settings, new Set()),
      {
        message: sentence,
      },
    )
})
