import type { Command } from 'commander'
import type { ExternalCommands } from './external.ts'
import { addFlags, output, valuesOf } from './options.ts'

const loadConfigCommands = () => import('../commands/config.ts')

/** Adds `adit config`. */
export function addConfigCommands(
  program: Command,
  state: { code: number },
  loadRequestCheck?: ExternalCommands['loadRequestCheck'],
): void {
  const config = program.command('config').description('read and change the configuration file')
  const env = process.env
  const add = config
    .command('add-authtoken <token>')
    .description('save the authtoken of a server ("-" reads it from standard input)')
  add.action(async (token: string) => {
    const { addAuthtoken } = await loadConfigCommands()
    await addAuthtoken(token, valuesOf(add), env, output.out)
  })
  const key = config
    .command('add-api-key <key>')
    .description('save the key for "adit api" ("-" reads it from standard input)')
  key.action(async (value: string) => {
    const { addApiKey } = await loadConfigCommands()
    await addApiKey(value, valuesOf(key), env, output.out)
  })
  const url = config
    .command('add-connect-url <address>')
    .alias('add-server-addr')
    .description('save the address of the server, host:port')
  url.action(async (address: string) => {
    const { addConnectUrl } = await loadConfigCommands()
    addConnectUrl(address, valuesOf(url), env, output.out)
  })
  const updates = config
    .command('add-update-url <url> <key>')
    .description('save where "adit update" finds releases, and the public key that verifies them')
  updates.action(async (address: string, publicKey: string) => {
    const { addUpdateUrl } = await loadConfigCommands()
    addUpdateUrl({ url: address, key: publicKey }, valuesOf(updates), env, output.out)
  })
  const check = config.command('check').description('check the configuration file')
  check.action(async () => {
    const { checkConfig } = await loadConfigCommands()
    await checkConfig(valuesOf(check), env, output, await loadRequestCheck?.())
  })
  const reload = config
    .command('reload')
    .description('reload the configuration file of the running agent, like SIGHUP')
  addFlags(reload, [{ name: 'web-addr', kind: 'text', help: "host:port of the agent's local API" }])
  reload.action(async () => {
    const { reloadConfig } = await loadConfigCommands()
    await reloadConfig(valuesOf(reload), env, output.out)
  })
  const edit = config.command('edit').description('open the configuration file in your editor')
  edit.action(async () => {
    const { editConfig } = await loadConfigCommands()
    state.code = editConfig(valuesOf(edit), env)
  })
  const up = config
    .command('upgrade [version]')
    .description('upgrade the configuration file to a newer version')
  addFlags(up, [
    { name: 'dry-run', kind: 'bool', help: 'print the result without changing the file' },
    { name: 'relocate', kind: 'bool', help: 'move the file to its default location' },
  ])
  up.action(async (version: string | undefined) => {
    const { upgrade } = await loadConfigCommands()
    const values = valuesOf(up)
    const options = { dryRun: values['dry-run'] === 'true', relocate: values.relocate === 'true' }
    upgrade(version, options, values, env, output.out)
  })
}
