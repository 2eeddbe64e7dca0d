import { newId } from '../../base/values/id.ts'
import type { Resource } from '../../resources/index.ts'
import type { EdgeRow } from '../contracts/snapshot.ts'
import type { Edge } from '../edge.ts'

/** The configuration of a test account, fed to an edge as the store would. */
export class TestConfiguration {
  readonly accountId: string
  readonly #edge: Pick<Edge, 'follower' | 'scopes'>
  readonly #rows = new Map<string, { resource: Resource; row: EdgeRow }>()
  #revision = 0

  constructor(edge: Pick<Edge, 'follower' | 'scopes'>, accountId = 'ac_test') {
    this.#edge = edge
    this.accountId = accountId
  }

  /** Creates a resource from a request body; returns its id. */
  create(resource: Resource, body: Record<string, unknown>, id = newId(resource.prefix)): string {
    this.write(resource, id, resource.parseCreate(body))
    return id
  }

  /** Changes fields; null unsets one. */
  update(id: string, changes: Record<string, unknown>): void {
    const { resource, row } = this.#rows.get(id)!
    const complete: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(changes)) {
      complete[name] = value === null ? null : resource.parseUpdate({ [name]: value })[name]
    }
    this.write(resource, id, { ...row.data, ...complete })
  }

  /** Writes a record unchecked, valid or not. */
  write(resource: Resource, id: string, record: unknown): void {
    const row: EdgeRow = {
      kind: resource.kind,
      id,
      account: this.accountId,
      revision: ++this.#revision,
      data: record as Record<string, unknown>,
      secrets: undefined,
    }
    this.#rows.set(id, { resource, row })
    this.#edge.follower.change([{ kind: resource.kind, id, row }])
  }

  remove(id: string): void {
    const { resource } = this.#rows.get(id)!
    this.#rows.delete(id)
    this.#edge.follower.change([{ kind: resource.kind, id, row: undefined }])
  }

  /** Sends everything again, as the store does at first and after a gap, in which these were deleted. */
  reload(...deleted: string[]): void {
    for (const id of deleted) this.#rows.delete(id)
    const { ownersOf } = this.#edge.follower
    const load = this.#edge.follower.load()
    for (const [id, { resource, row }] of this.#rows) {
      const { kind } = resource
      if (ownersOf.has(kind)) load.putOwners(kind, [{ id, account: row.account }])
      else load.put([{ kind, id, row }])
    }
    load.complete()
  }

  /** The record as it was last written. */
  record(id: string): Record<string, unknown> {
    return { ...this.#rows.get(id)!.row.data }
  }

  /** Waits until the edge has applied every change. */
  async waitUntilApplied(): Promise<void> {
    await this.#edge.scopes.flush()
  }
}
