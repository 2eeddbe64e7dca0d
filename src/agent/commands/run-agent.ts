import { Refusal } from '../../protocol/index.ts'
import { Agent } from '../agent.ts'
import type { Env } from '../config/paths.ts'
import { type LocalApi, startLocalApi } from '../local-api/local-api.ts'
import { jsonEvents, plainEvents, tellEvents } from '../screen/plain.ts'
import { resolveSettings } from '../settings.ts'
import type { TunnelSpec } from '../tunnels/spec.ts'
import { StartError } from '../tunnels/tunnels.ts'
import type { Context } from './context.ts'
import { withCode } from './documentation.ts'
import { Failure } from './failure.ts'
import { leaveState, type ResumeState, reexec } from './reexec.ts'

/** What a command wants to run. */
export interface RunOptions {
  context: Context
  specs: readonly TunnelSpec[]
  /** `json`, or undefined for the screen or plain lines. */
  output: string | undefined
  warnings: readonly string[]
  serviceRun?: boolean
  /** What a former process of this agent left behind. */
  resumed?: ResumeState | undefined
  env: Env
}

const STOP_MS = 500
const HARD_STOP_MS = 900

/** Runs an agent until a signal, the server or an error ends it; gives the exit code. */
export async function runAgent(options: RunOptions): Promise<number> {
  const { context, env } = options
  const { log } = context
  const settings = resolveSettings(context.keys, env)
  const stopping = Promise.withResolvers<string>()
  const agent: Agent = new Agent({
    settings,
    log,
    configVersion: context.config.version === undefined ? '' : String(context.config.version),
    serviceRun: options.serviceRun ?? false,
    program: { stop: () => stopping.resolve('stop'), reexec: () => reexec(leaveState(agent)) },
  })
  if (options.resumed) {
    agent.connection.resume = options.resumed.session
    agent.tunnels.resumeBindings = new Map(options.resumed.bindings)
  }
  for (const warning of options.warnings) warn(options, warning)

  let api: LocalApi | undefined
  let hide = () => {}
  const signals = followSignals((signal) => stopping.resolve(signal))
  try {
    api = settings.web && (await startLocalApi(agent, settings.web))
    hide = await present(options, agent, api?.url, () => stopping.resolve('SIGINT'))
    const running = agent.run()
    const started = startAll(agent, options.resumed?.specs ?? options.specs)
    const reason = await Promise.race([
      stopping.promise,
      running.then(() => 'closed'),
      started.then(() => stopping.promise),
    ])
    log.info('received stop request', { obj: 'app', stopReq: reason })
    return 0
  } catch (error) {
    log.error('terminating with error', { obj: 'app', err: (error as Error).message })
    log.crit('command failed', { err: (error as Error).message })
    throw asFailure(error, settings.location.authtoken.reveal())
  } finally {
    // Whatever hangs must not keep a stopped agent alive.
    setTimeout(() => process.exit(process.exitCode ?? 0), HARD_STOP_MS).unref()
    hide()
    signals()
    await agent.close(STOP_MS)
    api?.close()
    log.close()
  }
}

async function startAll(agent: Agent, specs: readonly TunnelSpec[]): Promise<void> {
  for (const spec of specs) await agent.tunnels.startWithRetry(spec)
}

/** Shows the screen on a terminal, lines elsewhere, and nothing when the log is the output. */
async function present(
  options: RunOptions,
  agent: Agent,
  webUrl: string | undefined,
  quit: () => void,
): Promise<() => void> {
  const { keys, logTarget } = options.context
  const write = (line: string) => process.stdout.write(line)
  if (options.output === 'json') return tell(agent, webUrl, jsonEvents(write))
  if (logTarget === 'stdout' || logTarget === 'stderr') return () => {}
  if (!process.stdout.isTTY || !process.stdin.isTTY || keys.console_ui === 'false')
    return tell(agent, webUrl, plainEvents(write))
  const { startScreen } = await import('../screen/screen.ts')
  const update = () => {
    agent.updater.begin().catch(() => {})
  }
  return startScreen({
    agent,
    webUrl,
    actions: { quit, update },
    background: keys.console_ui_color ?? 'black',
  })
}

function tell(agent: Agent, webUrl: string | undefined, events: ReturnType<typeof plainEvents>): () => void {
  if (webUrl !== undefined) events.web(webUrl)
  return tellEvents(agent, events)
}

/** Warnings go to the log; without one, to the error output, unless a program reads ours. */
function warn({ context, output }: RunOptions, warning: string): void {
  if (context.logTarget !== undefined) context.log.warn(warning)
  else if (output !== 'json') process.stderr.write(`WARN:  ${warning}\n`)
}

function followSignals(onSignal: (signal: NodeJS.Signals) => void): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, onSignal)
  return () => {
    for (const signal of signals) process.off(signal, onSignal)
  }
}

function asFailure(error: unknown, token: string): Error {
  // Not every server keeps what it was sent to itself.
  const shown = (text: string) => text.replaceAll(token, '[hidden]')
  if (error instanceof Refusal)
    return new Failure(shown(withCode(`authentication failed: ${error.message}`, error.code)))
  if (error instanceof StartError)
    return new Failure(shown(withCode(`failed to start tunnel: ${error.message}`, error.code)))
  return error as Error
}
