import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { test } from 'node:test'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { findCommand } from '../../base/process/command-line.ts'
import { readSettings } from '../settings/settings.ts'
import { parseSubcommand, subcommands } from './subcommands.ts'

test('a subcommand without its argument says what to write', async () => {
  const settings = readSettings([], { HOME: '/nonexistent' })
  for (const [line, sentence] of [
    ['account create', 'Give the new account a name: adit server account create NAME.'],
    ['user password', 'Name the user: adit server user password EMAIL.'],
    ['events dead', 'Name the destination: adit server events dead ed_….'],
    ['events replay', 'Name the destination: adit server events replay ed_….'],
    ['backup', 'Name the file to write: adit server backup FILE.'],
    ['restore', 'Name the backup file: adit server restore FILE.'],
  ] as const)
    await assert.rejects(
      async () => findCommand(subcommands, line.split(' ')).command?.run([], settings, new Set()),
      {
        message: sentence,
      },
    )
})

test('words that no subcommand takes are rejected with the line to write', () => {
  for (const [line, message] of [
    ['events ded ed_1', 'adit server events has no command "ded". Did you mean: adit server events dead'],
    ['check now', 'adit server check takes no argument, but got "now". Write: adit server check'],
    [
      'backup a.db b.db',
      'adit server backup takes one argument, and "b.db" is one too many. Write: adit server backup a.db',
    ],
  ] as const)
    assert.throws(() => parseSubcommand(line.split(' ')), { message })
  assert.deepEqual(parseSubcommand(['events', 'replay', 'ed_1', 'ev_1', 'ev_2']).operands, [
    'ed_1',
    'ev_1',
    'ev_2',
  ])
  // The account, where several have a user of this address.
  for (const command of [['admin-link'], ['user', 'password']])
    assert.equal(parseSubcommand([...command, 'ada@example.com', 'ac_1']).operands.length, 2)
})

test('no subcommand but a restore creates a database', async () => {
  const dataDir = createTempDir()
  const settings = readSettings(['--data-dir', dataDir], { HOME: '/nonexistent' })
  for (const line of [
    ...[
      'account create acme',
      'user password ada@example.com',
      'certs',
      'certs retry',
      'events',
      'events dead ed_1',
    ],
    ...[
      'events replay ed_1',
      'ipdata list',
      'ipdata remove a.mmdb',
      'rotate-key',
      'audit verify',
      'migrate',
      'repair',
      'repair --accept-loss',
    ],
  ]) {
    const { command, operands, switches } = parseSubcommand(line.split(' '))

    await assert.rejects(
      async () => command.run(operands, settings, switches),
      /^CommandFailure: There is no database in /,
      line,
    )
  }
  assert.deepEqual(await readdir(dataDir), [])
})
