// The parts of these untyped test providers that tests use.
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  export default class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>)
    callback(): RequestListener
  }
}

declare module 'samlp' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  type Handler = (
    request: IncomingMessage & Record<string, unknown>,
    response: ServerResponse & Record<string, unknown>,
    next: (error?: unknown) => void,
  ) => void
  const samlp: {
    auth(options: Record<string, unknown>): Handler
    logout(options: Record<string, unknown>): Handler
    metadata(options: Record<string, unknown>): Handler
    parseRequest(
      request: unknown,
      options: Record<string, unknown>,
      done: (
        error: unknown,
        data: { id: string; issuer: string; assertionConsumerServiceURL?: string },
      ) => void,
    ): void
  }
  export default samlp
}
