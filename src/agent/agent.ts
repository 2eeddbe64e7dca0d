import { arch, hostname, platform } from 'node:os'
import { fanOut } from '../base/limits/fan-out.ts'
import { type Clock, systemClock } from '../base/values/clock.ts'
import { BASE_ROOT, VERSION } from '../base/version.ts'
import type { AgentCommand } from '../protocol/index.ts'
import { ServerConnection } from './connect/connection.ts'
import { proxyOf } from './connect/dial.ts'
import { Forwarder } from './forward/forwarder.ts'
import { CaptureFile, CaptureFileInUse } from './inspector/capture-file.ts'
import { CaptureStore } from './inspector/capture-store.ts'
import type { AgentLog } from './log/log.ts'
import type { AgentSettings } from './settings.ts'
import type { ReloadResult } from './tunnels/reload.ts'
import { Tunnels } from './tunnels/tunnels.ts'
import { Updater } from './update/updater.ts'

/** Stops and restarts the process that hosts an agent; absent for an agent embedded in another program. */
export interface HostProcess {
  stop(): void
  /** Replaces the process with the installed version; undefined where the platform cannot. */
  reexec: (() => void) | undefined
  /** Reads the configuration again; absent for an agent that runs what its command line says. */
  reload?: (() => Promise<ReloadResult>) | undefined
}

export interface AgentOptions {
  settings: AgentSettings
  log: AgentLog
  clock?: Clock
  program?: HostProcess
  /** Version of the configuration file; the session reports it. */
  configVersion?: string
  /** True when the service manager started the agent. */
  serviceRun?: boolean
  /** User agent of the session; an application that embeds the library puts its own name first. */
  userAgent?: string
}

/**
 * How long a start through the local API waits for the first session; wrappers give up on a call after four seconds.
 */
const SESSION_WAIT_MS = 3500
const UPDATE_CHECK_INTERVAL_MS = 6 * 3_600_000
/** Delays a command until the response to it has been sent. */
const COMMAND_DELAY_MS = 100

/** An agent: one session with a server, its tunnels and the captured traffic. */
export class Agent {
  readonly settings: AgentSettings
  readonly log: AgentLog
  readonly clock: Clock
  readonly captures: CaptureStore
  readonly connection: ServerConnection
  readonly tunnels: Tunnels
  readonly updater: Updater
  readonly #options: AgentOptions
  readonly #captureFile: CaptureFile | undefined
  readonly #listeners = new Set<() => void>()
  readonly #noticeListeners = new Set<(notice: string) => void>()
  #updateTimer: NodeJS.Timeout | undefined

  constructor(options: AgentOptions) {
    const { settings, log, clock = systemClock } = options
    this.#options = options
    this.settings = settings
    this.log = log
    this.clock = clock
    log.hide(settings.location.authtoken.reveal())
    this.captures = new CaptureStore(settings.captureBytes, settings.redact, (error) =>
      this.#onListenerError(error),
    )
    this.#captureFile = this.#openCaptureFile()
    this.updater = new Updater({ settings: settings.updates, version: VERSION, root: BASE_ROOT, log })
    this.tunnels = new Tunnels({
      connection: () => this.connection,
      forwarder: new Forwarder({ captures: this.captures, clock, log }),
      clock,
      log,
      sessionWaitMs: SESSION_WAIT_MS,
      onChange: () => this.#notifyListeners(),
      warn: (text) => {
        log.warn(text)
        this.notice(text)
      },
    })
    this.connection = new ServerConnection({
      location: settings.location,
      relocate: settings.relocate,
      dial: settings.dial,
      heartbeat: settings.heartbeat,
      legs: settings.legs,
      clock,
      log,
      identity: {
        version: VERSION,
        userAgent: options.userAgent ?? `adit/${VERSION}`,
        clientType: 'adit',
        os: platform(),
        arch: arch(),
        hostname: hostname(),
        metadata: settings.metadata,
        configVersion: options.configVersion ?? '',
        commands: this.#unsupportedReasons(),
        proxyType: proxyOf(settings.location, settings.dial)?.kind ?? '',
        serviceRun: options.serviceRun ?? false,
        customInterface: settings.dial.interface !== undefined,
        customCas: settings.location.cas !== undefined,
        readsNotes: this.captures.enabled,
      },
      onProxy: (header, stream) => this.tunnels.accept(header, stream),
      onCommand: (command) => this.#handleCommand(command),
      onSession: (session) => this.tunnels.attach(session),
      onChange: () => this.#notifyListeners(),
    })
  }

  #openCaptureFile(): CaptureFile | undefined {
    const { captureFile } = this.settings
    if (captureFile === undefined || !this.captures.enabled) return undefined
    try {
      return new CaptureFile(captureFile, this.captures, (error) =>
        this.log.warn('captured requests could not be saved', { obj: 'inspector', err: error.message }),
      )
    } catch (error) {
      if (!(error instanceof CaptureFileInUse)) throw error
      // Two agents often share a configuration, and the second should serve all the same.
      this.log.warn('captured requests are kept in memory only', {
        obj: 'inspector',
        err: error.message,
        hint: 'give each agent its own file with --inspect-db-file',
      })
      return undefined
    }
  }

  /** Runs until closed; rejects when the server permanently rejects the agent. */
  async run(): Promise<void> {
    if (this.updater.watching) this.#watchUpdates()
    try {
      await this.connection.run()
    } finally {
      clearInterval(this.#updateTimer)
    }
  }

  /** Reads the configuration again and applies it; rejects, and changes nothing, if it has mistakes. */
  async reload(): Promise<ReloadResult> {
    const { program } = this.#options
    if (program?.reload === undefined)
      throw new Error('this agent was not started with "adit start": it has no configuration to reload')
    return program.reload()
  }

  /** Unbinds every tunnel and ends the session, within `timeoutMs`. */
  async close(timeoutMs = 500): Promise<void> {
    const timer = { handle: undefined as NodeJS.Timeout | undefined }
    const deadline = new Promise<void>((resolve) => {
      timer.handle = setTimeout(resolve, timeoutMs)
    })
    await Promise.race([this.tunnels.close().catch(() => {}), deadline])
    await Promise.race([this.#captureFile?.close(), deadline])
    clearTimeout(timer.handle)
    this.connection.close()
  }

  /** Calls `onChange` when the session, the tunnels or the updates change; the returned function unsubscribes. */
  follow(onChange: () => void): () => void {
    this.#listeners.add(onChange)
    return () => this.#listeners.delete(onChange)
  }

  /** Tells the user what no tunnel shows, such as an endpoint that cannot be opened. */
  notice(text: string): void {
    fanOut(
      this.#noticeListeners,
      (listener) => listener(text),
      (error) => this.#onListenerError(error),
    )
  }

  /** Calls the listener for each notice from now on. */
  followNotices(onNotice: (notice: string) => void): () => void {
    this.#noticeListeners.add(onNotice)
    return () => this.#noticeListeners.delete(onNotice)
  }

  /** Why this agent does not support a command; empty when it does. */
  #unsupportedReasons(): { restart: string; stop: string; update: string } {
    const { program, settings } = this.#options
    if (!settings.remoteManagement) {
      const disabled = 'remote management is disabled in the agent configuration (remote_management: false)'
      return { restart: disabled, stop: disabled, update: disabled }
    }
    const embedded = 'the agent is embedded in a program that does not allow it'
    return {
      restart: platform() === 'win32' ? 'an agent cannot restart itself on Windows' : '',
      stop: program ? '' : embedded,
      update: program ? '' : embedded,
    }
  }

  async #handleCommand(command: AgentCommand): Promise<void> {
    if (command.name === 'stopTunnel') {
      this.tunnels.handleServerStop(command.id, command.message, command.errorCode)
      return
    }
    const unsupported = this.#unsupportedReasons()[command.name]
    if (unsupported) throw new Error(unsupported)
    this.log.info(`received ${command.name} request`, { obj: 'app', stopReq: command.name })
    if (command.name === 'update') {
      const { version } = await this.updater.begin()
      this.log.info('updating', { obj: 'updater', version })
      return
    }
    const { program } = this.#options
    const action =
      command.name === 'stop'
        ? () => program?.stop()
        : () => {
            // A new version needs a new process; otherwise a new session is enough.
            if (this.updater.installed !== undefined && program?.reexec) program.reexec()
            else this.connection.restart()
          }
    setTimeout(action, COMMAND_DELAY_MS)
  }

  #watchUpdates(): void {
    const check = () => {
      this.updater.check().then(
        (version) => {
          if (version !== undefined) this.log.info('update available', { obj: 'updater', version })
          this.#notifyListeners()
        },
        (error: Error) =>
          this.log.warn('failed to check for updates', { obj: 'updater', err: error.message }),
      )
    }
    check()
    this.#updateTimer = setInterval(check, UPDATE_CHECK_INTERVAL_MS).unref()
  }

  #notifyListeners(): void {
    fanOut(
      this.#listeners,
      (listener) => listener(),
      (error) => this.#onListenerError(error),
    )
  }

  #onListenerError(error: unknown): void {
    this.log.error('listener failed', { err: String(error) })
  }
}
