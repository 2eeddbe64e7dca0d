import type { TunnelPrincipal } from '../../auth/index.ts'
import type { Logger } from '../../base/process/log.ts'
import { isKeyAccepted } from './transport/algorithms.ts'
import { type AuthContext, verifySignature } from './transport/ssh2.ts'

/** Dependencies of a login. */
export interface SshLoginOptions {
  /** The principal of a public key in wire format, if any. The user name selects among several holders. */
  authenticate(publicKey: Buffer, userName: string): Promise<TunnelPrincipal | undefined>
  /** Whether the account's IP restrictions admit this address. */
  admits?(accountId: string, ip: string): boolean
  log: Logger
}

const METHODS = ['publickey']
const MAX_FAILURES = 6

/** Far more than querying and then using six keys needs. */
const MAX_REQUESTS = 20

/** The login attempts of one connection: public key only, and a limited number. */
export class Login {
  readonly #options: SshLoginOptions
  readonly #ip: string
  readonly #onVerified: (principal: TunnelPrincipal) => Promise<boolean>
  readonly #onLimit: () => void
  #failures = 0
  #requests = 0

  /** `onVerified` resolves to whether the verified principal is admitted. */
  constructor(
    options: SshLoginOptions,
    ip: string,
    onVerified: (principal: TunnelPrincipal) => Promise<boolean>,
    onLimit: () => void,
  ) {
    this.#options = options
    this.#ip = ip
    this.#onVerified = onVerified
    this.#onLimit = onLimit
  }

  /** True after a failed attempt. */
  get hasFailed(): boolean {
    return this.#failures > 0
  }

  async attempt(context: AuthContext): Promise<void> {
    if (++this.#requests > MAX_REQUESTS) {
      this.#onLimit()
      return
    }
    // RFC 4252 section 5.2: clients send "none" first to learn the supported methods.
    if (context.method === 'none' && this.#requests === 1) {
      context.reject(METHODS)
      return
    }
    if (await this.#verify(context)) {
      context.accept()
      return
    }
    this.#failures++
    if (this.#failures >= MAX_FAILURES) this.#onLimit()
    else context.reject(METHODS)
  }

  async #verify({ method, username, key, hashAlgo, signature, blob }: AuthContext): Promise<boolean> {
    if (method !== 'publickey' || key?.data === undefined || !isKeyAccepted(key.algo, hashAlgo)) return false
    const principal = await this.#findPrincipal(key.data, username)
    if (principal === undefined) return false
    if (this.#options.admits?.(principal.accountId, this.#ip) === false) return false
    // Without a signature the client only asks whether the key is acceptable; accept answers that it is.
    if (signature === undefined) return true
    if (blob === undefined || !verifySignature(key.data, key.algo, hashAlgo, blob, signature)) return false
    return this.#onVerified(principal)
  }

  async #findPrincipal(publicKey: Buffer, userName: string): Promise<TunnelPrincipal | undefined> {
    try {
      return await this.#options.authenticate(publicKey, userName)
    } catch (error) {
      this.#options.log.error({ err: error, ip: this.#ip }, 'SSH login check failed')
      return undefined
    }
  }
}
