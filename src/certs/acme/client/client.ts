import { setTimeout as delay } from 'node:timers/promises'
import type { Outbound } from '../../../base/outbound/outbound.ts'
import { Secret } from '../../../base/values/secret.ts'
import type { Store } from '../../../store/index.ts'
import { createCsr } from '../../x509/csr.ts'
import type { KeyGenerator } from '../../x509/keys.ts'
import { renewalId } from './renewal-info.ts'
import { AcmeAccount, type Authorization, type AuthorizationChallenge, type Order } from './rfc8555.ts'
import { AcmeRejected, AcmeUnavailable } from './transport.ts'

/** The ACME directory to use, and the contact of its account. */
export interface AcmeSettings {
  readonly directory: string
  readonly email?: string | undefined
}

const PREDECESSOR_PROBLEMS = ['alreadyReplaced', 'malformed', 'conflict']
const ACCOUNT_LEASE_MS = 30_000
const MAX_ATTEMPTS = 4
const MIN_RETRY_MS = 500
const MAX_RETRY_MS = 10_000

/** The platform's account at one ACME server. All nodes share its key, which is generated once and stored sealed. */
export class AcmeClient {
  readonly directoryUrl: string
  readonly #settings: AcmeSettings
  readonly #outbound: Outbound
  readonly #store: Store
  readonly #keys: KeyGenerator
  readonly #holder: string
  #account: Promise<AcmeAccount> | undefined

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
      async (account) => {
        const directory = await account.directory()
        newOrderUrl = directory.newOrder
        const identifiers = names.map((value) => ({ type: 'dns', value }))
        if (replaces === undefined || directory.renewalInfo === undefined)
          return this.#createOrder(account, { identifiers })
        return this.#createOrder(account, { identifiers, replaces }).catch((error) => {
          // RFC 9773 section 5: order without `replaces` when the authority rejects the predecessor.
          const isOtherError = !(error instanceof AcmeRejected) || !PREDECESSOR_PROBLEMS.includes(error.type)
          if (isOtherError) throw error
          return this.#createOrder(account, { identifiers })
        })
      },
      (error) => error.url === newOrderUrl,
    )
  }

  order(url: string): Promise<Order> {
    return this.#withRetry((account) => account.order(url))
  }

  authorizations(order: Order): Promise<Authorization[]> {
    return this.#withRetry((account) =>
      Promise.all(order.authorizations.map((url) => account.authorization(url))),
    )
  }

  /** The content the challenge expects: the body of an HTTP-01 response, or the text of a DNS-01 record. */
  async keyAuthorization(challenge: AuthorizationChallenge): Promise<string> {
    return (await this.#openAccount()).keyAuthorization(challenge)
  }

  async respondToChallenge({ url }: AuthorizationChallenge): Promise<void> {
    await this.#withRetry((account) => account.post(url, {}))
  }

  async finalize({ url, finalize }: Order, names: readonly string[], key: Secret): Promise<Order> {
    const csr = (await createCsr(names, key)).toString('base64url')
    return this.#withRetry((account) => account.order(url, { csr }, finalize))
  }

  /** The certificate chain of a valid order, as PEM. */
  async certificate({ url, certificate }: Order): Promise<string> {
    if (certificate === undefined) throw new AcmeUnavailable('The valid order has no certificate.', { url })
    const { data } = await this.#withRetry((account) => account.post(certificate))
    return String(data)
  }

  /** The renewal window that the authority suggests; undefined when it suggests none. */
  async renewalWindow(certificatePem: string): Promise<{ start: number; end: number } | undefined> {
    return this.#withRetry(async (account) => {
      const { renewalInfo } = await account.directory()
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
    const { meta } = await this.#withRetry((account) => account.directory())
    return meta?.caaIdentities?.filter((name) => typeof name === 'string') ?? []
  }

  async #createOrder(account: AcmeAccount, order: object): Promise<Order> {
    try {
      return await account.newOrder(order)
    } catch (error) {
      if (error instanceof AcmeRejected && error.type === 'accountDoesNotExist') await this.#forgetAccount()
      throw error
    }
  }

  /** Retries for a few seconds while the server is unavailable; the job's backoff covers longer outages. */
  async #withRetry<T>(
    work: (account: AcmeAccount) => Promise<T>,
    isFinal: (error: AcmeUnavailable) => boolean = () => false,
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work(await this.#openAccount())
      } catch (error) {
        if (!(error instanceof AcmeUnavailable) || attempt === MAX_ATTEMPTS || isFinal(error)) throw error
        const wait = error.retryAfterMs ?? MIN_RETRY_MS * 2 ** (attempt - 1)
        if (wait > MAX_RETRY_MS) throw error
        await delay(wait)
      }
    }
  }

  #openAccount(): Promise<AcmeAccount> {
    this.#account ??= this.#findAccount().catch((error) => {
      this.#account = undefined
      throw error
    })
    return this.#account
  }

  async #findAccount(): Promise<AcmeAccount> {
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

  async #storedAccount(): Promise<AcmeAccount | undefined> {
    const key = await this.#store.setting(this.#settingName('key'))
    const url = await this.#store.setting(this.#settingName('url'))
    return key === undefined || !url ? undefined : this.#createAccount(new Secret(key), url)
  }

  async #register(): Promise<AcmeAccount> {
    const name = this.#settingName('key')
    const storedKey = await this.#store.setting(name)
    const key = storedKey === undefined ? await this.#keys.generate('ecdsa') : new Secret(storedKey)
    // Stored before it is used, so that an account created right before a crash is found again.
    if (storedKey === undefined) await this.#store.putSetting(name, key.reveal(), { secret: true })
    const account = this.#createAccount(key)
    const { email } = this.#settings
    const url = await account.register(email === undefined ? [] : [`mailto:${email}`])
    await this.#store.putSetting(this.#settingName('url'), url)
    return account
  }

  /** Forgets an account that the server has lost, as a test server does on every start. */
  async #forgetAccount(): Promise<void> {
    await this.#store.putSetting(this.#settingName('url'), '')
    this.#account = undefined
  }

  #settingName(part: 'key' | 'url'): string {
    return `acme.account_${part} ${this.directoryUrl}`
  }

  #createAccount(key: Secret, url?: string): AcmeAccount {
    return new AcmeAccount(this.#outbound, this.directoryUrl, key, url)
  }
}
