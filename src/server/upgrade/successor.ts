import { type ChildProcess, spawn } from 'node:child_process'
import type { AddressInfo, Server } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { CommandFailure } from '../../base/process/command-line.ts'
import { describeFileError } from '../../base/text/file-error.ts'
import type { ListenerAnswer, ListenerQuestion, MessageToPredecessor } from '../process/upgrade-messages.ts'
import { SUCCESSOR_VARIABLE } from './predecessor.ts'
import type { PredecessorDescription } from './predecessor-channel.ts'
import { reportMainProcess, requireFollower } from './service-manager.ts'

/** The longest delay of a timer. */
const MAX_DELAY_MS = 2 ** 31 - 1

/** A new release that serves. */
export interface Successor {
  readonly pid: number
  readonly version: string
}

/** A listener for the new release. */
interface OfferedListener {
  readonly server: Server
  /** Called when it is sent, or cannot be. */
  onSent(): void
}

/** What the running release offers to the one that replaces it. */
export interface HandOver {
  readonly description: PredecessorDescription
  /** Where the listener of this name is bound, that of a worker if its number is given. */
  addressOf(name: string, worker?: number): Promise<AddressInfo | undefined>
  /** The listener itself. */
  take(name: string, worker?: number): Promise<OfferedListener | undefined>
  /** Links the two releases, so that each reaches the tunnels of the other. */
  prepare(): Promise<void>
  /** The new release failed: this one carries on as before. */
  cancel(): Promise<void>
  /** The new release has the listeners: this one accepts nothing more. */
  commit(): Promise<void>
  /** Resolves when this release is stopped, and the new one with it unless it serves already. */
  readonly stopped: Promise<void>
}

/**
 * Starts a release beside this one, with the same arguments, and hands it the listeners; resolves once it serves. One that
 * fails or takes too long is ended, and this release carries on.
 */
export async function startSuccessor(
  [program, ...args]: readonly [string, ...string[]],
  serverArgs: readonly string[],
  handOver: HandOver,
  timeoutMs: number,
): Promise<Successor> {
  requireFollower(process.env)
  await handOver.prepare()
  const child = spawn(program, [...args, 'server', ...serverArgs], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [SUCCESSOR_VARIABLE]: JSON.stringify(handOver.description) },
  })
  try {
    const version = await waitUntilReady(child, program, handOver, timeoutMs)
    const { pid = 0 } = child
    await reportMainProcess(pid, process.env)
    await handOver.commit()
    // This process ends when it has drained, whatever the new one does.
    child.unref()
    child.channel?.unref()
    return { pid, version }
  } catch (error) {
    child.kill('SIGKILL')
    await handOver.cancel()
    throw error
  }
}

async function waitUntilReady(
  child: ChildProcess,
  program: string,
  handOver: HandOver,
  timeoutMs: number,
): Promise<string> {
  const { promise: ready, resolve, reject } = Promise.withResolvers<string>()
  const timeout = new AbortController()
  const fail = (reason: string) =>
    reject(new CommandFailure(`${reason} The running release continues unchanged.`))
  child.on('message', (message: MessageToPredecessor) => {
    if ('ready' in message) resolve(message.ready.version)
    else if ('failed' in message) fail(`The new release failed: ${message.failed}`)
    else void answer(child, message, handOver)
  })
  child.once('error', (error) => fail(`${program} cannot be run: ${describeFileError(error)}.`))
  child.once('exit', (code, signal) => {
    const end = () => fail(`The new release exited during startup (${signal ?? `exit code ${code}`}).`)
    // What it sent before may still be under way.
    if (child.connected) child.once('disconnect', end)
    else end()
  })
  void handOver.stopped.then(() => reject(new CommandFailure('The server was stopped.')))
  delay(timeoutMs === 0 ? MAX_DELAY_MS : Math.min(timeoutMs, MAX_DELAY_MS), undefined, {
    ref: false,
    signal: timeout.signal,
  }).then(
    () =>
      fail(
        `The new release was not ready within ${timeoutMs / 1000} s; allow more time with --upgrade-timeout.`,
      ),
    () => {},
  )
  return ready.finally(() => timeout.abort())
}

async function answer(child: ChildProcess, question: ListenerQuestion, handOver: HandOver): Promise<void> {
  const { id, worker } = question
  const reply = (message: ListenerAnswer, { server, onSent }: Partial<OfferedListener> = {}) => {
    // A process that has just ended takes no messages.
    if (child.connected) child.send(message, server, () => onSent?.())
    else onSent?.()
  }
  if ('take' in question) reply({ id }, await handOver.take(question.take, worker))
  else reply({ id, address: await handOver.addressOf(question.addressOf, worker) })
}
