import { type Command, Option } from 'commander'
import { CommandFailure } from '../../base/process/command-line.ts'
import type { ServiceAction } from '../commands/service/manager.ts'
import { isJsonOutput, SESSION_FLAGS } from '../commands/session-flags.ts'
import { addFlags, output, valuesOf } from './options.ts'

const loadContext = () => import('../commands/context.ts')

/** Adds `adit diagnose`. */
export function addDiagnose(program: Command, state: { code: number }): void {
  const command = program.command('diagnose').description('test the connection to the server, step by step')
  addFlags(command, SESSION_FLAGS)
  command.option('-4, --ipv4', 'use IPv4 only')
  command.option('-6, --ipv6', 'use IPv6 only')
  command.option('-w, --write-report <file>', 'write a report as JSON, without secrets')
  command.addOption(new Option('-r, --region-of <region>').hideHelp())
  command.action(async () => {
    const { diagnose } = await import('../commands/diagnose.ts')
    const { createContext } = await loadContext()
    const values = valuesOf(command)
    const json = isJsonOutput(values)
    const { keys } = createContext(values, process.env, { stdoutForData: json })
    const { ipv4, ipv6, writeReport } = command.opts<{
      ipv4?: boolean
      ipv6?: boolean
      writeReport?: string
    }>()
    if (ipv4 && ipv6) throw new CommandFailure('-4 and -6 exclude each other; leave both out to use either')
    const family = ipv4 ? 4 : ipv6 ? 6 : undefined
    state.code = await diagnose(keys, { family, report: writeReport, json }, process.env, output.out)
  })
}

/** Adds `adit service`. */
export function addServiceCommands(program: Command, state: { code: number }): void {
  const parent = program.command('service').description('run the agent as a system service')
  const actions: [ServiceAction, string][] = [
    ['install', 'install the service (requires --config)'],
    ['start', 'start it'],
    ['stop', 'stop it'],
    ['restart', 'stop it and start it again'],
    ['status', 'show whether it is running; the exit code is 3 if not'],
    ['uninstall', 'remove it'],
  ]
  for (const [action, help] of actions) {
    const command = parent.command(action).description(help)
    command.action(async () => {
      const { runServiceAction } = await import('../commands/service/service.ts')
      state.code = await runServiceAction(action, valuesOf(command), process.env, output.out)
    })
  }
  const run = parent.command('run', { hidden: true })
  run.action(async () => {
    const { serviceRunCommand } = await import('../commands/tunnels.ts')
    state.code = await serviceRunCommand(valuesOf(run), process.env)
  })
}

/** Adds `adit update`. */
export function addUpdate(program: Command): void {
  const command = program.command('update').description('install the newest version of the update channel')
  addFlags(command, [
    { name: 'channel', kind: 'text', help: 'stable, beta or unstable' },
    ...SESSION_FLAGS.filter(({ name }) => name === 'update-url' || name === 'update-key'),
  ])
  command.action(async () => {
    const { update } = await import('../commands/update.ts')
    const { createContext } = await loadContext()
    await update(createContext(valuesOf(command), process.env), output.out)
  })
}
