import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { type Acl, compileAcl, type TunnelPrincipal } from '../../auth/index.ts'
import type { WindowBudget } from '../../base/io/memory/window-budget.ts'
import type { SocketAddresses } from '../../base/io/sockets/socket-addresses.ts'
import { fanOut } from '../../base/limits/fan-out.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import type { Clock } from '../../base/values/clock.ts'
import { newId } from '../../base/values/id.ts'
import {
  MAX_WINDOW,
  ProtocolError,
  protocolError,
  proxyProtocolHeader,
  WindowGrowth,
} from '../../protocol/index.ts'
import type { Binder } from '../bind/bind.ts'
import type { PublicAddress } from '../bind/public-address.ts'
import type { Registry } from '../registry/registry.ts'
import {
  type Command,
  type CommandOutcome,
  type LiveSession,
  PROBE_TIMEOUT_MS,
  type ProbeOutcome,
} from '../session/live-session.ts'
import type { LiveTunnel } from '../session/live-tunnel.ts'
import type { SessionState } from '../session/states.ts'
import type { ClientInfo } from '../tunnel.ts'
import { Channels } from './channels.ts'
import { InvalidCommand, NO_COMMAND, parseCommand, type SshCommand, sanitize } from './command-line.ts'
import { toForwardRequest } from './forward-request.ts'
import { type Forward, Forwards } from './forwards.ts'
import { Login, type SshLoginOptions } from './login.ts'
import type { RequestLog } from './request-log.ts'
import { jsonScreen, type Screen, textScreen } from './screen.ts'
import { KEX, MACS, selectCiphers } from './transport/algorithms.ts'
import type { HostIdentity } from './transport/host-key.ts'
import { Pings } from './transport/pings.ts'
import {
  type ForwardTarget,
  type IncomingClient,
  type SessionChannel,
  type SessionRequests,
  sendBanner,
  startSshServer,
} from './transport/ssh2.ts'

/** Dependencies and limits of an SSH connection. */
export interface SshConnectionOptions extends SshLoginOptions {
  registry: Registry
  binder: Binder
  address: PublicAddress
  hostIdentity: HostIdentity
  requestLog: RequestLog
  region: string
  clock: Clock
  /** Shared with the other receive windows of the process. */
  windows: WindowBudget
  /** How long a client may take to answer a probe. */
  probeTimeoutMs?: number
  /** Admits a session of the account; false when it has reached its limit. */
  admitSession(accountId: string): boolean
  onAuthenticated(): void
  onClose(): void
}

/** Concurrent shells and commands of one connection. */
const MAX_SCREENS = 4

/** How long a forward waits for the command: the client sends it right after the forward, if at all. */
const COMMAND_WAIT_MS = 500

/** How long it waits once a session channel is open. */
const COMMAND_TIMEOUT_MS = 5000

/** Time for the last output to arrive before the connection closes. */
const LINGER_MS = 1000

const UNSUPPORTED: Record<Exclude<Command, 'stop'>, string> = {
  restart: 'An SSH client cannot be restarted from here. Stop the session; its user starts it again.',
  update: 'An SSH client cannot be updated from here. Update it on the machine where it runs.',
}

const HELP =
  'Nothing to forward. Ask for a public address with -R: ssh -R 80:localhost:3000 gives HTTP, -R name:443:localhost:3000 HTTPS under that name, -R 0:localhost:22 a TCP port.'

/** The principal of an authenticated connection, and since when it is a session. */
interface Identity {
  readonly principal: TunnelPrincipal
  readonly startedAt: number
}

/** One SSH connection from its first byte: authenticates the client and, from then on, is its session. */
export class SshConnection implements LiveSession {
  readonly id: string
  readonly ip: string
  readonly transport = 'ssh'
  readonly clientId = randomUUID()
  readonly os = ''
  readonly ingressIp: string
  state: SessionState = 'connecting'
  acl: Acl = compileAcl([])
  agentVersion = ''
  readonly #options: SshConnectionOptions
  readonly #socket: Socket
  readonly #client: IncomingClient
  readonly #login: Login
  readonly #pings: Pings
  readonly #channels: Channels
  readonly #forwards: Forwards
  readonly #screens = new Set<Screen>()
  #identity: Identity | undefined
  /** The key was verified, but its account has reached its session limit. */
  #sessionLimitReached = false
  #openSessions = 0
  #command: SshCommand | undefined
  #commandTimer: NodeJS.Timeout | undefined
  #silentTicks = 0
  #closed = false

  constructor(
    socket: Socket,
    { remoteAddress: ip, localAddress }: SocketAddresses,
    options: SshConnectionOptions,
  ) {
    this.id = newId('ts', options.clock.now())
    this.ip = ip
    this.ingressIp = localAddress
    this.#options = options
    this.#socket = socket
    const { hostIdentity } = options
    const offer = { kex: KEX, hostKeys: hostIdentity.algorithms, ciphers: selectCiphers, macs: MACS }
    this.#client = startSshServer(socket, offer, hostIdentity.keysFor, ({ versions, comments }) => {
      this.agentVersion = sanitize(`${versions.software} ${comments ?? ''}`.trim(), 200)
    })
    this.#pings = new Pings(this.#client, options.clock)
    const windowGrowth = new WindowGrowth({
      clock: options.clock,
      roundTrip: this.#pings.roundTrip,
      maxWindow: MAX_WINDOW,
      budget: options.windows.forSession(),
      measure: () => this.#pings.send(),
    })
    this.#channels = new Channels(this.#client, socket, windowGrowth, this.#onError)
    this.#login = new Login(
      options,
      ip,
      (principal) => this.#startSession(principal),
      () => this.#close(),
    )
    this.#forwards = new Forwards({
      bind: (forward) => this.#bind(forward),
      unbind: (bindId) => options.binder.unbind(this, bindId),
      notify: (event) => this.#notify(event),
      errorText: (error) => this.#errorText(error),
      watch: (tunnel) => this.#watch(tunnel),
    })
    this.#addListeners()
  }

  get authenticated(): boolean {
    return this.#identity !== undefined
  }

  /** True when the client attempted to log in and no key was accepted. */
  get failedLogin(): boolean {
    return !this.authenticated && !this.#sessionLimitReached && this.#login.hasFailed
  }

  get accountId(): string {
    return this.#requiredIdentity.principal.accountId
  }

  get credentialId(): string {
    return this.#requiredIdentity.principal.credentialId
  }

  get ownerId(): string {
    return this.#requiredIdentity.principal.ownerId
  }

  get userAgent(): string {
    return this.agentVersion
  }

  get metadata(): string {
    return this.#command?.metadata ?? ''
  }

  get startedAt(): number {
    return this.#requiredIdentity.startedAt
  }

  get region(): string {
    return this.#options.region
  }

  end(reason: string): void {
    const hasScreens = this.#screens.size > 0
    this.#notify((screen) => screen.end(reason, 1))
    this.#endSession()
    // OpenSSH disconnects once its command has ended, and only then exits with the status it received.
    if (hasScreens) setTimeout(() => this.#close(), LINGER_MS).unref()
    else this.#close()
  }

  tunnelEnded(tunnel: LiveTunnel, reason: string): void {
    this.#forwards.onTunnelEnded(tunnel.bindId)
    this.#notify((screen) => screen.tunnelEnded(tunnel, reason))
  }

  async command(command: Command): Promise<CommandOutcome> {
    if (command !== 'stop') return { done: false, because: 'unsupported', reason: UNSUPPORTED[command] }
    this.end('The session was stopped through the API.')
    await this.#options.registry.published()
    return { done: true }
  }

  async probe(): Promise<ProbeOutcome> {
    if (this.#closed) return 'gone'
    const answered = new Promise<boolean>((resolve) => {
      this.#socket.once('data', () => resolve(true))
      setTimeout(() => resolve(false), this.#options.probeTimeoutMs ?? PROBE_TIMEOUT_MS).unref()
    })
    this.#pings.send()
    if (await answered) return 'alive'
    this.#destroy(new Error('The SSH client did not answer a probe.'))
    return 'gone'
  }

  /** Called at every tick of the gateway: pings a silent client, and ends one that stays silent. */
  tick(pingEvery: number, deadAfter: number): void {
    this.#silentTicks++
    if (this.#silentTicks >= deadAfter) this.#destroy(new Error('The SSH client stopped answering.'))
    else if (this.#silentTicks % pingEvery === 0 && this.authenticated) this.#pings.send()
  }

  get #requiredIdentity(): Identity {
    if (this.#identity === undefined) throw protocolError('not_authenticated')
    return this.#identity
  }

  #addListeners(): void {
    this.#socket.on('data', () => {
      this.#silentTicks = 0
    })
    this.#socket.once('close', () => {
      this.#endSession()
      this.#options.onClose()
    })
    this.#client.on('error', (error) => this.#fail(error))
    this.#client.on('authentication', (context) => {
      // The package throws on requests that are out of order.
      this.#login.attempt(context).catch((error: Error) => this.#fail(error))
    })
    this.#client.on('request', (accept, reject, name, target) => {
      if (this.#closed) reject?.()
      else if (name === 'tcpip-forward') this.#forward(target, accept, reject)
      else if (name === 'cancel-tcpip-forward') void this.#cancel(target, accept, reject)
      else reject?.()
    })
    this.#client.on('session', (accept, reject) => {
      const requests = this.#openSessions < MAX_SCREENS && !this.#closed ? accept() : undefined
      if (requests === undefined) reject()
      else this.#onSessionOpened(requests)
    })
  }

  /** Registers the session; false when the credential was revoked meanwhile, or the account is at its session limit. */
  async #startSession(principal: TunnelPrincipal): Promise<boolean> {
    if (this.#closed) return false
    if (!this.#options.admitSession(principal.accountId)) {
      this.#sessionLimitReached = true
      sendBanner(this.#client, `${toLine(protocolError('too_many_sessions'))}\n`)
      return false
    }
    this.#identity = { principal, startedAt: this.#options.clock.now() }
    this.acl = compileAcl(principal.acl)
    try {
      this.#options.registry.addSession(this)
    } catch (error) {
      this.#identity = undefined
      if (error instanceof ProtocolError) return false
      throw error
    }
    this.#options.onAuthenticated()
    await this.#options.registry.published()
    return !this.#closed
  }

  #forward(
    target: ForwardTarget,
    accept: ((port?: number) => void) | undefined,
    reject: (() => void) | undefined,
  ): void {
    this.#forwards.add({ target, accept: accept ?? (() => {}), reject: reject ?? (() => {}) })
    if (this.#command !== undefined) void this.#forwards.bindAll()
    else this.#awaitCommand(this.#openSessions > 0 ? COMMAND_TIMEOUT_MS : COMMAND_WAIT_MS)
  }

  async #cancel(
    target: ForwardTarget,
    accept: ((port?: number) => void) | undefined,
    reject: (() => void) | undefined,
  ): Promise<void> {
    if (await this.#forwards.cancel(target)) accept?.()
    else reject?.()
  }

  /** OpenSSH requests its forwards first and sends the command after (decision 63); with `-N` there is none. */
  #awaitCommand(timeoutMs: number): void {
    clearTimeout(this.#commandTimer)
    this.#commandTimer = setTimeout(() => {
      this.#command ??= NO_COMMAND
      void this.#forwards.bindAll()
    }, timeoutMs)
  }

  #onSessionOpened(requests: SessionRequests): void {
    this.#openSessions++
    if (this.#command === undefined) this.#awaitCommand(COMMAND_TIMEOUT_MS)
    let terminal = false
    requests.on('pty', (accept) => {
      terminal = true
      accept?.()
    })
    requests.on('window-change', (accept) => accept?.())
    requests.on('shell', (accept) => this.#startCommand(accept, terminal, ''))
    requests.on('exec', (accept, _reject, { command }) => this.#startCommand(accept, terminal, command))
    requests.on('close', () => this.#openSessions--)
  }

  #startCommand(accept: () => SessionChannel | undefined, terminal: boolean, line: string): void {
    const channel = accept()
    if (channel === undefined) return
    channel.on('error', () => {})
    channel.stderr.on('error', () => {})
    let command: SshCommand
    try {
      command = parseCommand(line)
      if (this.#command !== undefined && !command.displayOnly) throw new InvalidCommand(OPTIONS_TOO_LATE)
    } catch (error) {
      if (this.#command === undefined) this.#forwards.rejectAll()
      channel.stderr.write(`${errorMessage(error)}${terminal ? '\r\n' : '\n'}`)
      channel.exit(1)
      channel.end()
      return
    }
    clearTimeout(this.#commandTimer)
    if (this.#command === undefined) {
      this.#command = command
      this.#options.registry.sessionChanged(this)
    }
    const screen = command.output === 'json' ? jsonScreen(channel) : textScreen(channel, terminal)
    this.#attachScreen(screen, channel, terminal)
  }

  #attachScreen(screen: Screen, channel: SessionChannel, terminal: boolean): void {
    this.#screens.add(screen)
    channel.on('close', () => this.#screens.delete(screen))
    channel.on('data', (typed: Buffer) => {
      // With a terminal, Ctrl-C and Ctrl-D arrive as bytes.
      if (terminal && (typed.includes(3) || typed.includes(4))) this.#close()
    })
    screen.started(this.id)
    for (const { tunnel, text } of this.#forwards.bound) screen.tunnel(tunnel, text)
    void this.#forwards.bindAll().then(() => this.#afterBinds())
  }

  /** Ends a terminal that has nothing to show, so the user gets the prompt back with the reason above it. */
  #afterBinds(): void {
    if (this.#forwards.hasForwards || this.#closed) return
    if (this.#forwards.hasRejected) this.#notify((screen) => screen.end('', 1))
    else
      setTimeout(
        () => this.#forwards.hasForwards || this.#notify((screen) => screen.end(HELP, 1)),
        COMMAND_WAIT_MS,
      )
  }

  #bind(forward: Forward): Promise<LiveTunnel> {
    const { binder, address } = this.#options
    const requested = toForwardRequest(forward.target, this.#command ?? NO_COMMAND, address)
    const open = (tunnel: LiveTunnel, client: ClientInfo) => this.#openChannel(forward, tunnel, client)
    return requested.kind === 'labels'
      ? binder.bindLabels(this, requested.request, open)
      : binder.bind(this, requested.request, open)
  }

  #openChannel(forward: Forward, tunnel: LiveTunnel, { clientAddress, serverAddress }: ClientInfo) {
    const colon = clientAddress.lastIndexOf(':')
    const channel = this.#channels.open({
      boundAddr: forward.target.bindAddr,
      boundPort: forward.port,
      remoteAddr: clientAddress.slice(0, colon).replace(/^\[|\]$/g, ''),
      remotePort: Number(clientAddress.slice(colon + 1)),
    })
    const { proxyProto } = tunnel.options
    if (proxyProto !== 0) channel.write(proxyProtocolHeader(proxyProto, clientAddress, serverAddress))
    return channel
  }

  #watch(tunnel: LiveTunnel): () => void {
    // Labelled tunnels serve the protocol of their edges.
    if (tunnel.address.proto === 'tcp' || tunnel.address.proto === 'tls') return () => {}
    if (this.#screens.size === 0 || this.#command?.requestLog === false) return () => {}
    return this.#options.requestLog.watch(this.accountId, tunnel.id, (request) =>
      this.#notify((screen) => screen.request(request)),
    )
  }

  readonly #onError = (err: unknown): void => {
    this.#options.log.error({ err, session: this.id }, 'SSH connection failed')
  }

  #notify(event: (screen: Screen) => void): void {
    fanOut([...this.#screens], event, this.#onError)
  }

  #errorText(error: unknown): string {
    if (error instanceof ProtocolError) return toLine(error)
    this.#options.log.error({ err: error, session: this.id }, 'SSH forward not bound')
    return 'The server cannot answer at the moment. Try again shortly.'
  }

  #close(): void {
    this.#client.end()
    this.#linger()
  }

  #fail(error: Error): void {
    this.#options.log.debug({ err: error, ip: this.ip, session: this.id }, 'SSH connection failed')
    this.#endSession(error)
    this.#linger()
  }

  #linger(): void {
    this.#socket.destroySoon()
    setTimeout(() => this.#socket.destroy(), LINGER_MS).unref()
  }

  #destroy(error: Error): void {
    this.#options.log.debug({ err: error, ip: this.ip, session: this.id }, 'SSH connection ended')
    this.#endSession(error)
    this.#socket.destroy()
  }

  /** Ends the session; the connection may still be flushing its last output. */
  #endSession(error?: Error): void {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#commandTimer)
    // An SSH client cannot prove that it is the same one again, so its names get no grace period (decision 62).
    if (this.authenticated) this.#options.registry.removeSession(this, 'closed', error?.message)
    this.#forwards.close()
    this.#channels.close(new Error('The SSH connection is closed.'))
  }
}

const OPTIONS_TOO_LATE =
  'The tunnels of this connection are already online. Pass options with the first command.'

/** The sentence and the code on one line: terminals of clients get no control characters. */
function toLine({ message, code }: ProtocolError): string {
  const sentence = message.replaceAll('\n', ' ')
  return code === undefined ? sentence : `${sentence} (${code})`
}
