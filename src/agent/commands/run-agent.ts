import { CommandFailure } from '../../base/process/command-line.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import { isLocalDomain } from '../../base/values/local-domain.ts'
import { ProtocolError } from '../../protocol/index.ts'
import { Agent } from '../agent.ts'
import type { Env } from '../config/paths.ts'
import { type LocalApi, startLocalApi } from '../local-api/local-api.ts'
import { followFirstProblems } from '../screen/hints.ts'
import { createJsonReporter, createPlainReporter, reportStatus } from '../screen/plain.ts'
import { type AgentSettings, resolveSettings } from '../settings.ts'
import { type AgentTunnelSpec, addPlainHttp } from '../spec/spec.ts'
import type { ReloadResult } from '../tunnels/reload.ts'
import { StartError } from '../tunnels/tunnels.ts'
import type { CommandContext } from './context.ts'
import { appendCode } from './documentation.ts'
import { type ResumeState, reexec, writeResumeState } from './reexec.ts'
import { createReload, type ReloadSource, watchTerminal } from './reload.ts'

/** What a command runs. */
export interface RunOptions {
  context: CommandContext
  specs: readonly AgentTunnelSpec[]
  /** `json`, or undefined for the screen or plain lines. */
  output: string | undefined
  warnings: readonly string[]
  /** Show the QR code of the first URL. */
  qr?: boolean
  serviceRun?: boolean
  /** Starts what opens and closes further tunnels while the agent runs; returns what ends it. */
  attach?(agent: Agent, withSchemes: (specs: readonly AgentTunnelSpec[]) => AgentTunnelSpec[]): () => void
  /** Reads the definitions again; absent where the command line defines what runs. */
  reload?: ReloadSource | undefined
  /** State of the previous process of this agent. */
  resumeState?: ResumeState | undefined
  env: Env
}

const STOP_TIMEOUT_MS = 500
const HARD_STOP_TIMEOUT_MS = 900

/** Runs an agent until a signal, the server or an error ends it; returns the exit code. */
export async function runAgent(options: RunOptions): Promise<number> {
  const { context, env } = options
  const { log } = context
  const settings = resolveSettings(context.keys, env)
  const stopRequest = Promise.withResolvers<string>()
  let hideStatus = () => {}
  const reloadable = Promise.withResolvers<() => Promise<ReloadResult>>()
  const agent: Agent = new Agent({
    settings,
    log,
    configVersion: context.config.version === undefined ? '' : String(context.config.version),
    serviceRun: options.serviceRun ?? false,
    program: {
      stop: () => stopRequest.resolve('stop'),
      reload: options.reload && (() => reloadable.promise.then((reload) => reload())),
      reexec: () => {
        // The new process finds the terminal as this one did.
        hideStatus()
        reexec(writeResumeState(agent))
      },
    },
  })
  if (options.resumeState) {
    agent.connection.resume = options.resumeState.session
    agent.tunnels.resumeBindings = new Map(options.resumeState.bindings)
  }
  for (const warning of options.warnings) warn(options, warning)

  followFirstProblems(agent, ({ message, fields }) => log.warn(message, fields))
  let api: LocalApi | undefined
  let detach: (() => void) | undefined
  const unfollowSignals = followSignals({
    stop: (signal) => stopRequest.resolve(signal),
    hangup: () =>
      void agent.reload().catch((error) => {
        log.error('configuration not reloaded', { obj: 'app', err: errorMessage(error) })
        agent.notice(`SIGHUP has changed nothing: ${errorMessage(error)}`)
      }),
  })
  try {
    api = settings.web && (await startLocalApi(agent, settings.web))
    hideStatus = await showStatus(options, agent, api?.url, () => stopRequest.resolve('SIGINT'))
    const running = agent.run()
    detach = options.attach?.(agent, (specs) => withLocalSchemes(specs, settings))
    const withSchemes = (specs: readonly AgentTunnelSpec[]) => withLocalSchemes(specs, settings)
    const specs = options.resumeState?.specs ?? withSchemes(options.specs)
    const started = startAll(agent, specs)
    if (options.reload)
      reloadable.resolve(
        createReload(agent, options.reload, { configuration: context, specs, started }, withSchemes),
      )
    const reason = await Promise.race([
      stopRequest.promise,
      running.then(() => 'closed'),
      started.then(() => stopRequest.promise),
    ])
    log.info('received stop request', { obj: 'app', stopReq: reason })
    return 0
  } catch (error) {
    log.error('terminating with error', { obj: 'app', err: errorMessage(error) })
    log.crit('command failed', { err: errorMessage(error) })
    throw toFailure(error, settings.location.authtoken.reveal())
  } finally {
    // A hanging close must not keep a stopped agent alive.
    setTimeout(() => process.exit(process.exitCode ?? 0), HARD_STOP_TIMEOUT_MS).unref()
    detach?.()
    hideStatus()
    unfollowSignals()
    await agent.close(STOP_TIMEOUT_MS)
    api?.close()
    log.close()
  }
}

/** On a local domain, plain http comes beside https. */
function withLocalSchemes(
  specs: readonly AgentTunnelSpec[],
  { location: { announced } }: AgentSettings,
): AgentTunnelSpec[] {
  const { hostname = '' } = URL.parse(announced?.httpUrl ?? '') ?? {}
  return isLocalDomain(hostname) ? specs.map(addPlainHttp) : [...specs]
}

async function startAll(agent: Agent, specs: readonly AgentTunnelSpec[]): Promise<void> {
  for (const spec of specs) await agent.tunnels.startWithRetry(spec)
}

/** Shows the screen on a terminal, plain lines elsewhere, and nothing when the log goes to stdout or stderr. */
async function showStatus(
  options: RunOptions,
  agent: Agent,
  webUrl: string | undefined,
  quit: () => void,
): Promise<() => void> {
  const { keys, logTarget } = options.context
  const { qr = false } = options
  const write = (line: string) => process.stdout.write(line)
  if (options.output === 'json') return followEvents(agent, webUrl, createJsonReporter(write))
  if (logTarget === 'stdout' || logTarget === 'stderr') return () => {}
  if (!process.stdout.isTTY || !process.stdin.isTTY || keys.console_ui === 'false')
    return followEvents(agent, webUrl, createPlainReporter(write, { qr }))
  const { startScreen } = await import('../screen/screen.ts')
  const update = () => {
    agent.updater.begin().catch(() => {})
  }
  return startScreen({
    agent,
    webUrl,
    actions: { quit, update },
    background: keys.console_ui_color ?? 'black',
    qr,
  })
}

function followEvents(
  agent: Agent,
  webUrl: string | undefined,
  reporter: ReturnType<typeof createPlainReporter>,
): () => void {
  if (webUrl !== undefined) reporter.web(webUrl)
  return reportStatus(agent, reporter)
}

/** Warnings go to the log; without one to stderr, except with JSON output. */
function warn({ context, output }: RunOptions, warning: string): void {
  if (context.logTarget !== undefined) context.log.warn(warning)
  else if (output !== 'json') process.stderr.write(`WARN:  ${warning}\n`)
}

/** SIGHUP reloads, except when the terminal has gone, and on Windows, where it only says that a window was closed. */
function followSignals(on: { stop(signal: NodeJS.Signals): void; hangup(): void }): () => void {
  const isTerminalGone = watchTerminal()
  const onSignal = (signal: NodeJS.Signals) => {
    if (signal === 'SIGHUP' && process.platform !== 'win32' && !isTerminalGone()) on.hangup()
    else on.stop(signal)
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, onSignal)
  return () => {
    for (const signal of signals) process.off(signal, onSignal)
  }
}

function toFailure(error: unknown, token: string): Error {
  // A server's error message may contain the token it was sent.
  const redact = (text: string) => text.replaceAll(token, '[hidden]')
  if (error instanceof ProtocolError)
    return new CommandFailure(redact(appendCode(`authentication failed: ${error.message}`, error.code)))
  if (error instanceof StartError)
    return new CommandFailure(redact(appendCode(`failed to start tunnel: ${error.message}`, error.code)))
  return error as Error
}
