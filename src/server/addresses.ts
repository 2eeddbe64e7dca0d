import { joinHostPort, publicUrl } from '../base/hostport.ts'
import type { PublicAddress } from '../sessions/index.ts'
import type { ListenerAddress, ServerSettings } from './settings.ts'

/** The addresses of this server. Those of listeners are known once the listener is bound, which sets them. */
export class ServerAddresses implements PublicAddress {
  readonly domain: string
  readonly tcpHost: string
  /** The host that identity providers send visitors back to. */
  readonly idpHost: string
  readonly disabled: { readonly http: string | undefined; readonly https: string | undefined }
  readonly #settings: ServerSettings
  #apiUrl: string
  #httpPort = 0
  #httpsPort = 0
  /** `host:port`; null while the listener is not bound. */
  agent: string | null = null
  ssh: string | null = null

  constructor(settings: ServerSettings) {
    const { domain } = settings
    this.domain = domain
    // Few programs besides browsers and curl resolve names below localhost.
    this.tcpHost = domain.endsWith('localhost') ? 'localhost' : `tcp.${domain}`
    this.idpHost = `idp.${domain}`
    // A gateway without the role edge serves visitors through other processes, whatever its own listeners.
    const isEdge = settings.roles.has('edge')
    this.disabled = {
      http: isEdge && !settings.httpAddr && !settings.publicHttpPort ? '--http-addr false' : undefined,
      https: isEdge && !settings.httpsAddr && !settings.publicHttpsPort ? '--https-addr false' : undefined,
    }
    this.#settings = settings
    this.#apiUrl = settings.apiUrl ?? ''
  }

  get apiUrl(): string {
    return this.#apiUrl
  }

  /** The ports that visitors use. */
  get httpPort(): number {
    return this.#settings.publicHttpPort ?? this.#httpPort
  }

  get httpsPort(): number {
    return this.#settings.publicHttpsPort ?? this.#httpsPort
  }

  get idpUrl(): string {
    return publicUrl('https', this.idpHost, this.httpsPort)
  }

  /** The address agents dial: the operator's setting, or the bound address unless that is a wildcard. */
  get agentDial(): string | undefined {
    const { agentPublicAddr } = this.#settings
    if (agentPublicAddr === false || this.agent === null) return undefined
    if (agentPublicAddr !== undefined) return agentPublicAddr
    return /^(0\.0\.0\.0|\[?::\]?):/.test(this.agent) ? undefined : this.agent
  }

  setApi({ host }: ListenerAddress, port: number): void {
    this.#apiUrl = this.#settings.apiUrl ?? `http://${joinHostPort(host, port)}`
  }

  /** When another process is the edge, its ports come from the settings. */
  setEdge(http: number | undefined, https: number | undefined): void {
    this.#httpPort = http ?? this.#settings.httpAddr?.port ?? 80
    this.#httpsPort = https ?? this.#settings.httpsAddr?.port ?? 443
  }
}
