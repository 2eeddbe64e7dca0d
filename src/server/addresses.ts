import { isIP } from 'node:net'
import type { EdgeHost } from '../api/index.ts'
import { joinHostPort, parseHostPort, publicUrl } from '../base/values/hostport.ts'
import { isLocalDomain } from '../base/values/local-domain.ts'
import { BINDING_INGRESS_LABEL } from '../naming/index.ts'
import type { PublicAddress } from '../sessions/index.ts'
import type { ListenerAddress } from './settings/setting-values.ts'
import type { PlatformHost, ServerSettings } from './settings/settings.ts'

/** The addresses of this server. Those of listeners are known once the listener is bound, which sets them. */
export class PlatformAddresses implements PublicAddress {
  readonly domain: string
  readonly tcpHost: string
  /** The host that identity providers send visitors back to. */
  readonly idpHost: string
  /** The host at which Kubernetes clusters connect to endpoints. */
  readonly bindingIngressHost: string
  readonly disabled: { readonly http: string | undefined; readonly https: string | undefined }
  readonly #settings: ServerSettings
  #listenerUrl: string
  #httpPort = 0
  #httpsPort = 0
  #isBound = { http: false, https: false }
  /** `host:port`, for programs on this machine; null while the listener is not bound. */
  agent: string | null = null
  ssh: string | null = null

  constructor(settings: ServerSettings) {
    const { domain } = settings
    this.domain = domain
    // Few programs besides browsers and curl resolve names below localhost.
    this.tcpHost = domain.endsWith('localhost') ? 'localhost' : `tcp.${domain}`
    this.idpHost = `idp.${domain}`
    this.bindingIngressHost = `${BINDING_INGRESS_LABEL}.${domain}`
    // A gateway without the role edge serves visitors through other processes, whatever its own listeners.
    const isEdge = settings.roles.has('edge')
    this.disabled = {
      http: isEdge && !settings.httpAddr && !settings.publicHttpPort ? '--http-addr false' : undefined,
      https: isEdge && !settings.httpsAddr && !settings.publicHttpsPort ? '--https-addr false' : undefined,
    }
    this.#settings = settings
    this.#listenerUrl = settings.apiUrl ?? ''
  }

  /** Base URL of the API in responses. On a local domain it is the listener's, which needs no trust in the private root. */
  get apiUrl(): string {
    if (this.#settings.apiUrl !== undefined || isLocalDomain(this.domain)) return this.#listenerUrl
    return this.platformUrl('api') ?? this.#listenerUrl
  }

  /** The URL of the API's listener, or of the proxy that the operator put in front of it. */
  get listenerUrl(): string {
    return this.#listenerUrl
  }

  /** The URL at which the edge serves the API or the dashboard, unless that is switched off. */
  platformUrl(host: PlatformHost): string | undefined {
    const { platformHosts, httpsAddr } = this.#settings
    if (!platformHosts.has(host) || httpsAddr === undefined) return undefined
    return publicUrl('https', `${host}.${this.domain}`, this.httpsPort)
  }

  /** The platform's own hosts that the edge serves for the API: what hands out agents goes with the dashboard. */
  get edgeHosts(): readonly EdgeHost[] {
    const { platformHosts, downloads } = this.#settings
    return [...platformHosts, ...(downloads && platformHosts.has('dashboard') ? (['domain'] as const) : [])]
  }

  /** The base URL from which agents are installed: the domain, or the listener of the API. */
  get downloadUrl(): string {
    const isServed = this.edgeHosts.includes('domain') && this.disabled.https === undefined
    return isServed && !isLocalDomain(this.domain)
      ? publicUrl('https', this.domain, this.httpsPort)
      : this.#listenerUrl
  }

  /** The dashboard on the platform's own domain, unless that is switched off. */
  get publicDashboardUrl(): string | undefined {
    const url = this.platformUrl('dashboard')
    return url && `${url}/dashboard/`
  }

  /** The dashboard for people on this machine: on a local domain at the listener, as `apiUrl`. */
  get dashboardUrl(): string {
    const url = isLocalDomain(this.domain) ? undefined : this.publicDashboardUrl
    return url ?? `${this.#listenerUrl}/dashboard/`
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

  /** `host:port` at which Kubernetes clusters connect to endpoints; undefined where HTTPS is switched off. */
  get bindingIngress(): string | undefined {
    return this.disabled.https === undefined
      ? joinHostPort(this.bindingIngressHost, this.httpsPort)
      : undefined
  }

  /** The address of this node for agents of another: the operator's setting, or the bound address unless that is a wildcard. */
  get agentDial(): string | undefined {
    const { agentPublicAddr } = this.#settings
    if (agentPublicAddr === false || this.agent === null) return undefined
    if (agentPublicAddr !== undefined) return agentPublicAddr
    return isWildcard(this.agent) ? undefined : this.agent
  }

  /** The address that people are told for agents, under which the platform's certificate is served (decision 61). */
  get publicAgent(): string | null {
    const { agentPublicAddr } = this.#settings
    const configured = agentPublicAddr ? parseHostPort(agentPublicAddr) : undefined
    // No public certificate is for an IP address.
    const isNamed = configured && isIP(configured.host) === 0 && !configured.host.startsWith('[')
    const host = isNamed ? configured.host : `connect.${this.domain}`
    return this.#publicAddress(host, this.agent, configured?.port)
  }

  /** The address that people are told for `ssh -R`. */
  get publicSsh(): string | null {
    return this.#publicAddress(this.domain, this.ssh)
  }

  /** The host on a public domain; on a local one, where every name leads to this machine, the bound address. */
  #publicAddress(host: string, bound: string | null, publicPort?: number): string | null {
    const port = publicPort ?? parseHostPort(bound ?? '')?.port
    if (bound === null || port === undefined) return null
    if (!isLocalDomain(this.domain)) return joinHostPort(host, port)
    return isWildcard(bound) ? joinHostPort('localhost', port) : bound
  }

  setApi({ host }: ListenerAddress, port: number): void {
    this.setListenerUrl(`http://${joinHostPort(host, port)}`)
  }

  /** The URL of the API's listener, here or in another process. */
  setListenerUrl(url: string): void {
    this.#listenerUrl = this.#settings.apiUrl ?? url
  }

  /** The base URLs of endpoints; null where no listener is bound. */
  get publicUrls(): { http_url: string | null; https_url: string | null } {
    return {
      http_url: this.#isBound.http ? publicUrl('http', this.domain, this.httpPort) : null,
      https_url: this.#isBound.https ? publicUrl('https', this.domain, this.httpsPort) : null,
    }
  }

  /** When another process is the edge, its ports come from the settings. */
  setEdge(http: number | undefined, https: number | undefined): void {
    this.#isBound = { http: http !== undefined, https: https !== undefined }
    this.#httpPort = http ?? this.#settings.httpAddr?.port ?? 80
    this.#httpsPort = https ?? this.#settings.httpsAddr?.port ?? 443
  }
}

const isWildcard = (address: string) => /^(0\.0\.0\.0|\[?::\]?):/.test(address)
