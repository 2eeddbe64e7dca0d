import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import type { Outbound } from '../../../base/outbound/outbound.ts'
import type { Secret } from '../../../base/values/secret.ts'
import { type AcmeProblem, type AcmeResponse, AcmeUnavailable, sendRequest } from './transport.ts'

/** The parts of an ACME directory in use (RFC 8555 section 7.1.1, RFC 9773). */
export interface Directory {
  readonly newNonce: string
  readonly newAccount: string
  readonly newOrder: string
  readonly renewalInfo?: string
  readonly meta?: { readonly caaIdentities?: readonly string[] }
}

/** RFC 8555 section 7.1.3. */
export interface Order {
  readonly url: string
  readonly status: 'pending' | 'ready' | 'processing' | 'valid' | 'invalid'
  readonly authorizations: readonly string[]
  readonly finalize: string
  readonly certificate?: string
  readonly error?: AcmeProblem
}

/** RFC 8555 section 7.1.4. */
export interface Authorization {
  readonly status: string
  readonly identifier: { readonly value: string }
  readonly challenges: readonly AuthorizationChallenge[]
}

/** RFC 8555 section 7.1.5. */
export interface AuthorizationChallenge {
  readonly type: string
  readonly url: string
  readonly token: string
  readonly status: string
  readonly error?: AcmeProblem
}

const MAX_NONCE_RETRIES = 30
const DIRECTORY_MAX_AGE_MS = 24 * 60 * 60 * 1000

/** Requests of one account at one ACME server (RFC 8555), signed with its P-256 key. */
export class AcmeAccount {
  readonly #outbound: Outbound
  readonly #directoryUrl: string
  readonly #key: KeyObject
  /** The members that RFC 7638 requires, in its order. */
  readonly #jwk: { readonly crv: unknown; readonly kty: unknown; readonly x: unknown; readonly y: unknown }
  #url: string | undefined
  #directory: { readonly content: Directory; readonly loadedAt: number } | undefined

  /** `url` identifies an account that is registered already. */
  constructor(outbound: Outbound, directoryUrl: string, key: Secret, url?: string) {
    this.#outbound = outbound
    this.#directoryUrl = directoryUrl
    this.#key = createPrivateKey(key.reveal())
    const { crv, kty, x, y } = createPublicKey(this.#key).export({ format: 'jwk' })
    this.#jwk = { crv, kty, x, y }
    this.#url = url
  }

  async directory(): Promise<Directory> {
    const now = performance.now()
    if (this.#directory === undefined || now - this.#directory.loadedAt > DIRECTORY_MAX_AGE_MS) {
      const { data } = await sendRequest(this.#outbound, this.#directoryUrl, 'GET')
      this.#directory = { content: requireObject<Directory>(this.#directoryUrl, data), loadedAt: now }
    }
    return this.#directory.content
  }

  /** Creates the account, or finds that of the key and updates its contact. Returns its URL. */
  async register(contact: readonly string[]): Promise<string> {
    const { newAccount } = await this.directory()
    const body = { termsOfServiceAgreed: true, ...(contact.length > 0 && { contact }) }
    const { status, headers } = await this.post(newAccount, body)
    this.#url = requireLocation(newAccount, headers)
    if (status === 200) await this.post(this.#url, body)
    return this.#url
  }

  async newOrder(order: object): Promise<Order> {
    const { newOrder } = await this.directory()
    const { data, headers } = await this.post(newOrder, order)
    return { ...requireObject<Order>(newOrder, data), url: requireLocation(newOrder, headers) }
  }

  /** Reads an order, or changes it with the body. */
  async order(url: string, body?: object, target = url): Promise<Order> {
    const { data } = await this.post(target, body)
    return { ...requireObject<Order>(target, data), url }
  }

  async authorization(url: string): Promise<Authorization> {
    const { data } = await this.post(url)
    return requireObject<Authorization>(url, data)
  }

  /** The content that a challenge expects (section 8.1): the body of an HTTP-01 response, or the text of a DNS-01 record. */
  keyAuthorization({ type, token }: AuthorizationChallenge): string {
    const text = `${token}.${sha256(JSON.stringify(this.#jwk))}`
    return type === 'dns-01' ? sha256(text) : text
  }

  /** Sends a signed request (section 6.2), without a body as POST-as-GET; retries with a fresh nonce when told to. */
  async post(url: string, body?: object): Promise<AcmeResponse> {
    let nonce: string | undefined
    for (let retries = MAX_NONCE_RETRIES; ; retries--) {
      const signed = this.#sign(url, nonce ?? (await this.#newNonce()), body)
      const response = await sendRequest(this.#outbound, url, 'POST', signed, { allowBadNonce: retries > 0 })
      if (response.status < 400) return response
      nonce = response.headers.get('replay-nonce') ?? undefined
    }
  }

  async #newNonce(): Promise<string> {
    const { newNonce } = await this.directory()
    const { headers } = await sendRequest(this.#outbound, newNonce, 'HEAD')
    const nonce = headers.get('replay-nonce')
    if (nonce === null)
      throw new AcmeUnavailable('The certificate authority sent no nonce.', { url: newNonce })
    return nonce
  }

  /** The request as a JWS in flattened JSON (RFC 7515). */
  #sign(url: string, nonce: string, body: object | undefined): object {
    const account = this.#url === undefined ? { jwk: this.#jwk } : { kid: this.#url }
    const header = base64url(JSON.stringify({ alg: 'ES256', nonce, url, ...account }))
    const payload = body === undefined ? '' : base64url(JSON.stringify(body))
    const signature = sign('sha256', Buffer.from(`${header}.${payload}`), {
      key: this.#key,
      dsaEncoding: 'ieee-p1363',
    })
    return { protected: header, payload, signature: signature.toString('base64url') }
  }
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url')
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

function requireObject<T extends object>(url: string, data: unknown): T {
  if (typeof data === 'object' && data !== null) return data as T
  throw new AcmeUnavailable('The certificate authority answered with something that is not JSON.', { url })
}

function requireLocation(url: string, headers: Headers): string {
  const location = headers.get('location')
  if (location !== null) return location
  throw new AcmeUnavailable('The certificate authority answered without a location.', { url })
}
