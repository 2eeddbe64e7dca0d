import * as client from 'openid-client'
import type { TokenAuthMethod } from '../../../resources/index.ts'
import { failureOf } from './provider-errors.ts'

/**
 * How an application authenticates to the token endpoint of its provider. Providers announce what they support, not what
 * one application is registered for: without a setting, a rejected application tries the other method once.
 */
export class ClientAuthentication {
  readonly #secret: string
  readonly #setting: TokenAuthMethod | ''
  /** The method that the provider has accepted after it had rejected the other one. */
  #accepted: TokenAuthMethod | undefined

  constructor(secret: string, setting: TokenAuthMethod | '') {
    this.#secret = secret
    this.#setting = setting
  }

  /** Calls the token endpoint, and once more with the other method where the provider rejects the client. */
  async send<T>(call: (authenticate: client.ClientAuth) => Promise<T>): Promise<T> {
    let used: TokenAuthMethod | undefined
    try {
      return await call((server, ...request) => {
        used = this.#choose(server)
        this.#applied(used)(server, ...request)
      })
    } catch (rejection) {
      const other = used && this.#alternativeTo(used)
      if (other === undefined || failureOf(rejection) !== 'client_rejected') throw rejection
      return this.#sendAgain(call, other, rejection)
    }
  }

  async #sendAgain<T>(
    call: (authenticate: client.ClientAuth) => Promise<T>,
    method: TokenAuthMethod,
    rejection: unknown,
  ): Promise<T> {
    try {
      const response = await call(this.#applied(method))
      this.#accepted = method
      return response
    } catch (error) {
      const failure = failureOf(error)
      // Codes are for one use: some providers count the request that they rejected, and have accepted the client now.
      if (failure === 'code_rejected') this.#accepted = method
      throw failure === 'code_rejected' || failure === 'client_rejected' ? rejection : error
    }
  }

  #choose({ token_endpoint_auth_methods_supported: announced = [] }: client.ServerMetadata): TokenAuthMethod {
    if (this.#setting !== '') return this.#setting
    if (this.#secret === '') return 'none'
    // OpenID Connect Discovery section 3: without a list, HTTP Basic.
    const preferred = announced.includes('client_secret_post') ? 'client_secret_post' : 'client_secret_basic'
    return this.#accepted ?? preferred
  }

  #alternativeTo(method: TokenAuthMethod): TokenAuthMethod | undefined {
    if (this.#setting !== '' || method === 'none') return undefined
    return method === 'client_secret_post' ? 'client_secret_basic' : 'client_secret_post'
  }

  #applied(method: TokenAuthMethod): client.ClientAuth {
    if (method === 'none') return client.None()
    return method === 'client_secret_post'
      ? client.ClientSecretPost(this.#secret)
      : client.ClientSecretBasic(this.#secret)
  }
}
