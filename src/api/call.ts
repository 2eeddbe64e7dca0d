import type { Principal } from '../auth/index.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { resourceOfPrefix, type Showing } from '../resources/index.ts'
import type { Row, Store, Transaction } from '../store/index.ts'
import type { ApiConfig, ApiParts } from './config.ts'
import type { Route } from './routes.ts'

/** One call of the management API: who makes it and everything its handler may need. */
export interface ApiCall {
  readonly principal: Principal
  /** What is being done. */
  readonly operation: Route
  /** Shown in answers and logs, and kept in the audit record. */
  readonly operationId: string
  readonly source: string
  readonly store: Store
  readonly parts: ApiParts
  readonly config: ApiConfig
  readonly clock: Clock
  readonly log: Logger
  readonly renderContext: Showing
  /** Set once an answer has come to hold a secret, which a read must leave a record of (P44). */
  readonly secrets: { shown: boolean }
}

/** A created or updated object on its way into the store. */
export interface WriteContext extends ApiCall {
  /** The id of the object, fresh when it is being created. */
  readonly id: string
  /** The row as it is stored now; undefined while it is being created. */
  readonly existing: Row | undefined
  /** What the request itself names, in an object that is otherwise filled in from defaults or from what is stored. */
  readonly body: Readonly<Record<string, unknown>>
}

/** The same inside the transaction that writes it. */
export interface CommitContext extends WriteContext {
  readonly tx: Transaction
}

/** Addresses of resources, from their ids alone. */
export function createRenderContext(apiUrl: () => string, secrets = false): Showing {
  return {
    secrets,
    uriOf(id) {
      const resource = resourceOfPrefix(id.slice(0, id.indexOf('_')))
      if (resource === undefined || resource.parents.length > 0) return ''
      return `${resource.relativeUri ? '' : apiUrl()}${resource.path}/${id}`
    },
  }
}
