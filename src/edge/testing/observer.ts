import type { ConnectionEvent, Observer, RequestEvent } from '../contracts/observe.ts'

/** Records the events of one account. */
export class TestObserver implements Observer {
  readonly requests: RequestEvent[] = []
  readonly connections: ConnectionEvent[] = []
  readonly #account: string

  constructor(account: string) {
    this.#account = account
  }

  wantsRequests(account: string): boolean {
    return account === this.#account
  }

  onRequest(event: RequestEvent): void {
    this.requests.push(event)
  }

  wantsConnections(account: string): boolean {
    return account === this.#account
  }

  onConnection(event: ConnectionEvent): void {
    this.connections.push(event)
  }
}
