import { setTimeout as delay } from 'node:timers/promises'
import type { Authorization, Client, Order } from 'acme-client'
import type { Outbound } from '../../base/outbound/outbound.ts'
import { Secret } from '../../base/secret.ts'
import type { Store } from '../../store/index.ts'
import type { KeyGenerator } from '../x509/keys.ts'
import { renewalId } from './renewal-info.ts'
import { AcmeRejected, AcmeUnavailable, guardClient } from './transport.ts'

/** The ACME directory to use, and the contact of its account. */
export interface AcmeSettings {
  readonly directory: string
  readonly email?: string | undefined
}

/** The fields of an ACME directory that the library does not type. */
interface Directory {
  readonly newOrder?: string
  readonly renewalInfo?: string
  readonly meta?: { readonly caaIdentities?: readonly string[] }
}

const PREDECESSOR_PROBLEMS = ['alreadyReplaced', 'malformed', 'conflict']
const ACCOUNT_LEASE_MS = 30_000
const MAX_ATTEMPTS = 4
const MIN_RETRY_MS = 500
const MAX_RETRY_MS = 10_000

/** Loaded on first use: it takes longer to load than all other parts of a server together. */
const loadAcmeClient = () => import('acme-client')

/** The platform's account at one ACME server. All nodes share its key, which is generated once and stored sealed. */
export class AcmeClient {
  readonly directoryUrl: string
  readonly #settings: AcmeSettings
  readonly #outbound: Outbound
  readonly #store: Store
  readonly #keys: KeyGenerator
  readonly #holder: string
  #client: Promise<Client> | undefined

  constructor(options: {
    settings: AcmeSettings
    outbound: Outbound
    store: Store
    keys: KeyGenerator
    /** The lease holder name of this process. */
    holder: string
  }) {
    this.#settings = options.settings
    this.directoryUrl = options.settings.directory
    this.#outbound = options.outbound
    this.#store = options.store
    this.#keys = options.keys
    this.#holder = options.holder
  }

  /** Never retries the newOrder request itself: without a response, the order may exist, and a retry would create another. */
  newOrder(names: readonly string[], replaces: string | undefined): Promise<Order> {
    let newOrderUrl: string | undefined
    return this.#withRetry(
      async (client) => {
        const directory = await this.#directory(client)
        newOrderUrl = directory.newOrder
        const identifiers = names.map((value) => ({ type: 'dns', value }))
        if (replaces === undefined || directory.renewalInfo === undefined)
          return this.#createOrder(client, { identifiers })
        return this.#createOrder(client, { identifiers, replaces }).catch((error) => {
          // RFC 9773 section 5: order without `replaces` when the authority rejects the predecessor.
          const isOtherError = !(error instanceof AcmeRejected) || !PREDECESSOR_PROBLEMS.includes(error.type)
          if (isOtherError) throw error
          return this.#createOrder(client, { identifiers })
        })
      },
      (error) => error.url === newOrderUrl,
    )
  }

  order(url: string): Promise<Order> {
    return this.#withRetry((client) => client.getOrder({ url } as Order))
  }

  authorizations(order: Order): Promise<Authorization[]> {
    return this.#withRetry((client) => client.getAuthorizations(order))
  }

  /** The content the challenge expects: the body of an HTTP-01 response, or the text of a DNS-01 record. */
  async keyAuthorization(challenge: Authorization['challenges'][number]): Promise<string> {
    return (await this.#account()).getChallengeKeyAuthorization(challenge)
  }

  async respondToChallenge(challenge: Authorization['challenges'][number]): Promise<void> {
    await this.#withRetry((client) => client.completeChallenge(challenge))
  }

  async finalize(order: Order, names: readonly string[], key: Secret): Promise<Order> {
    const { crypto } = await loadAcmeClient()
    const [, csr] = await crypto.createCsr({ altNames: [...names] }, key.reveal())
    return this.#withRetry((client) => client.finalizeOrder(order, csr))
  }

  certificate(order: Order): Promise<string> {
    return this.#withRetry((client) => client.getCertificate(order))
  }

  /** The renewal window that the authority suggests; undefined when it suggests none. */
  async renewalWindow(certificatePem: string): Promise<{ start: number; end: number } | undefined> {
    return this.#withRetry(async (client) => {
      const { renewalInfo } = await this.#directory(client)
      const id = renewalId(certificatePem)
      if (renewalInfo === undefined || id === undefined) return undefined
      const response = await this.#outbound.fetch(`${renewalInfo}/${id}`)
      if (response.status !== 200) return undefined
      const { suggestedWindow } = (await response.json()) as {
        suggestedWindow?: { start?: string; end?: string }
      }
      const start = Date.parse(suggestedWindow?.start ?? '')
      const end = Date.parse(suggestedWindow?.end ?? '')
      return start <= end ? { start, end } : undefined
    })
  }

  /** The CAA identities of this authority. */
  async caaIdentities(): Promise<readonly string[]> {
    const { meta } = await this.#withRetry((client) => this.#directory(client))
    return meta?.caaIdentities?.filter((name) => typeof name === 'string') ?? []
  }

  async #createOrder(client: Client, order: Parameters<Client['createOrder']>[0] & { replaces?: string }) {
    try {
      return await client.createOrder(order)
    } catch (error) {
      if (error instanceof AcmeRejected && error.type === 'accountDoesNotExist') await this.#forgetAccount()
      throw error
    }
  }

  /** Retries for a few seconds while the server is unavailable; the job's backoff covers longer outages. */
  async #withRetry<T>(
    work: (client: Client) => Promise<T>,
    isFinal: (error: AcmeUnavailable) => boolean = () => false,
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work(await this.#account())
      } catch (error) {
        if (!(error instanceof AcmeUnavailable) || attempt === MAX_ATTEMPTS || isFinal(error)) throw error
        const wait = error.retryAfterMs ?? MIN_RETRY_MS * 2 ** (attempt - 1)
        if (wait > MAX_RETRY_MS) throw error
        await delay(wait)
      }
    }
  }

  #directory(client: Client): Promise<Directory> {
    return (client as unknown as { http: { getDirectory(): Promise<Directory> } }).http.getDirectory()
  }

  #account(): Promise<Client> {
    this.#client ??= this.#openAccount().catch((error) => {
      this.#client = undefined
      throw error
    })
    return this.#client
  }

  async #openAccount(): Promise<Client> {
    const stored = await this.#storedAccount()
    if (stored !== undefined) return stored
    for (let attempt = 0; attempt < 50; attempt += 1) {
      const lease = await this.#store.lease('certificates account', this.#holder, ACCOUNT_LEASE_MS)
      if (lease === undefined) {
        // Another node is registering the account.
        await delay(200)
        const registered = await this.#storedAccount()
        if (registered !== undefined) return registered
        continue
      }
      try {
        return (await this.#storedAccount()) ?? (await this.#register())
      } finally {
        await lease.release()
      }
    }
    throw new AcmeUnavailable('Another node is still creating the account at the certificate authority.')
  }

  async #storedAccount(): Promise<Client | undefined> {
    const key = await this.#store.setting(this.#settingName('key'))
    const url = await this.#store.setting(this.#settingName('url'))
    return key === undefined || !url ? undefined : this.#newClient(new Secret(key), url)
  }

  async #register(): Promise<Client> {
    const name = this.#settingName('key')
    const storedKey = await this.#store.setting(name)
    const key = storedKey === undefined ? await this.#keys.generate('ecdsa') : new Secret(storedKey)
    // Stored before it is used, so that an account created right before a crash is found again.
    if (storedKey === undefined) await this.#store.putSetting(name, key.reveal(), { secret: true })
    const client = await this.#newClient(key)
    const { email } = this.#settings
    await client.createAccount({
      termsOfServiceAgreed: true,
      ...(email === undefined ? {} : { contact: [`mailto:${email}`] }),
    })
    await this.#store.putSetting(this.#settingName('url'), client.getAccountUrl())
    return client
  }

  /** Forgets an account that the server has lost, as a test server does on every start. */
  async #forgetAccount(): Promise<void> {
    await this.#store.putSetting(this.#settingName('url'), '')
    this.#client = undefined
  }

  #settingName(part: 'key' | 'url'): string {
    return `acme.account_${part} ${this.directoryUrl}`
  }

  async #newClient(key: Secret, accountUrl?: string): Promise<Client> {
    const { Client } = await loadAcmeClient()
    const client = new Client({
      directoryUrl: this.directoryUrl,
      accountKey: key.reveal(),
      ...(accountUrl === undefined ? {} : { accountUrl }),
    })
    return guardClient(client, this.#outbound)
  }
}
