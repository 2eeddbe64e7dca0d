import type { Principal } from '../auth/index.ts'
import type { Logger } from '../base/process/log.ts'
import type { Clock } from '../base/values/clock.ts'
import { type RenderContext, resourceOfPrefix } from '../resources/index.ts'
import type { Row, Store, Transaction } from '../store/index.ts'
import type { ClientDialect } from './compat/dialect.ts'
import type { ApiConfig, ApiDependencies } from './config.ts'
import type { ApiRoute } from './routes.ts'

/** One call of the management API: the principal, and everything its handler may need. */
export interface ApiCall {
  readonly principal: Principal
  /** The route that is called. */
  readonly operation: ApiRoute
  /** Appears in responses, logs and the audit record. */
  readonly operationId: string
  readonly source: string
  readonly store: Store
  readonly dependencies: ApiDependencies
  readonly config: ApiConfig
  readonly clock: Clock
  readonly log: Logger
  readonly renderContext: RenderContext
  /** How the client speaks. */
  readonly dialect: ClientDialect
  /** Set once a response contains a secret: such a read is audited (P44). */
  readonly secrets: { shown: boolean }
  /** What the written policy may not do as expected: sent in `Warning` fields of the response. */
  readonly warnings: string[]
  /** The name under which an account document manages the object that this call creates. */
  readonly managedName?: string
}

/** The context of a creation or an update. */
export interface WriteContext<K extends string = string> extends ApiCall {
  /** The id of the object; new for a creation. */
  readonly id: string
  /** The stored row; undefined for a creation. */
  readonly existing: Row<K> | undefined
  /** The request body alone, without defaults and stored values. */
  readonly body: Readonly<Record<string, unknown>>
}

/** The same, inside the transaction that writes the object. */
export interface CommitContext<K extends string = string> extends WriteContext<K> {
  readonly tx: Transaction
}

/** Renders `uri` fields: derives the URI of a resource from its id. */
export function createRenderContext(apiUrl: () => string, secrets = false): RenderContext {
  return {
    secrets,
    uriOf(id) {
      const resource = resourceOfPrefix(id.slice(0, id.indexOf('_')))
      if (resource === undefined || resource.parents.length > 0) return ''
      return `${resource.relativeUri ? '' : apiUrl()}${resource.path}/${id}`
    },
  }
}
