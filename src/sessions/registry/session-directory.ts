import type { LiveSession } from '../session/live-session.ts'
import { agentKey } from '../session/succession.ts'

type Index = Map<string, Set<LiveSession>>

/** The registered sessions by id, account, credential and agent. */
export class SessionDirectory {
  readonly #byId = new Map<string, LiveSession>()
  readonly #byAccount: Index = new Map()
  readonly #byCredential: Index = new Map()
  /** One credential may have thousands of agents, and all of them reconnect at once. */
  readonly #byAgent: Index = new Map()

  get(id: string): LiveSession | undefined {
    return this.#byId.get(id)
  }

  ofAccount(accountId: string): LiveSession[] {
    return [...(this.#byAccount.get(accountId) ?? [])]
  }

  ofCredential(credentialId: string): LiveSession[] {
    return [...(this.#byCredential.get(credentialId) ?? [])]
  }

  ofAgent(agent: Parameters<typeof agentKey>[0]): LiveSession[] {
    return [...(this.#byAgent.get(agentKey(agent)) ?? [])]
  }

  add(session: LiveSession): void {
    this.#byId.set(session.id, session)
    for (const [index, key] of this.#keysOf(session)) {
      const sessions = index.get(key)
      if (sessions === undefined) index.set(key, new Set([session]))
      else sessions.add(session)
    }
  }

  remove(session: LiveSession): void {
    this.#byId.delete(session.id)
    for (const [index, key] of this.#keysOf(session)) {
      const sessions = index.get(key)
      sessions?.delete(session)
      if (sessions?.size === 0) index.delete(key)
    }
  }

  #keysOf(session: LiveSession): readonly (readonly [Index, string])[] {
    return [
      [this.#byAccount, session.accountId],
      [this.#byCredential, session.credentialId],
      [this.#byAgent, agentKey(session)],
    ]
  }
}
