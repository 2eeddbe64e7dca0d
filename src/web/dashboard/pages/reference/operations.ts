import type { Method } from '../../api.ts'
import type { OpenApi, Operation } from '../../openapi.ts'

/** An operation with its place in the API. */
export interface ReferenceEntry {
  readonly method: Method
  readonly path: string
  readonly operation: Operation
}

/** The operations of one kind of object. */
export interface ReferenceGroup {
  readonly tag: string
  readonly title: string
  readonly description: string
  readonly entries: readonly ReferenceEntry[]
}

/** All operations in the order of the document. */
export function entriesOf({ paths }: OpenApi): ReferenceEntry[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase() as Method,
      path,
      operation,
    })),
  )
}

/** The operations that contain every word of the search, by kind of object. */
export function groupsOf(document: OpenApi, search: string): ReferenceGroup[] {
  const words = search.toLowerCase().split(/\s+/)
  const entries = Map.groupBy(entriesOf(document), ({ operation }) => operation.tags[0])
  return document.tags
    .map(({ name, 'x-displayName': title, description }) => ({
      tag: name,
      title,
      description,
      entries: (entries.get(name) ?? []).filter(({ method, path, operation }) => {
        const text = `${title} ${method} ${path} ${operation.summary}`.toLowerCase()
        return words.every((word) => text.includes(word))
      }),
    }))
    .filter((group) => group.entries.length > 0)
}

/** The dashboard path of an operation. */
export function operationPath({ operationId }: Operation): string {
  return `/reference/${operationId}`
}
