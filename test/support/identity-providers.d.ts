// The parts of these untyped test providers that tests use.
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  export default class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>)
    callback(): RequestListener
  }
}

declare module 'samlp' {
  interface Parsed {
    id: string
    issuer: string
    assertionConsumerServiceURL?: string
  }
  const samlp: {
    parseRequest(
      request: unknown,
      options: Record<string, unknown>,
      done: (error: unknown, data: Parsed) => void,
    ): void
    getSamlResponse(
      options: Record<string, unknown>,
      user: unknown,
      done: (error: unknown, xml: string) => void,
    ): void
  }
  export default samlp
}
