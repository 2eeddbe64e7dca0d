import { useEffect, useState } from 'react'
import { ApiError, api, type Role } from './api.ts'

/** The subset of JSON Schema that forms and views use. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly examples?: readonly string[]
  readonly example?: unknown
  readonly default?: unknown
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly additionalProperties?: boolean | Schema
  readonly propertyNames?: Schema
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly format?: string
  /** The id prefixes of the resources this field can refer to. */
  readonly 'x-refers-to'?: readonly string[]
}

/** A parameter in the path or the query string. */
export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required?: boolean
  readonly description: string
  readonly schema: Schema
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly 'x-required-role'?: Role
  /** A higher role required for some objects of the operation. */
  readonly 'x-required-role-when'?: { readonly role: Role; readonly when: string }
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { content: { 'application/json': { schema: Schema } } }
  readonly responses: Readonly<
    Record<string, { readonly content?: { readonly 'application/json': { readonly schema: Schema } } }>
  >
}

/** The subset of an OpenAPI document that the dashboard uses. */
export interface OpenApi {
  readonly servers: readonly { url: string }[]
  readonly tags: readonly { name: string; 'x-displayName': string; description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** How often the document is asked for while the server does not respond. */
const RETRY_DELAY_MS = 2000

let pending: Promise<OpenApi> | undefined
let cached: OpenApi | undefined

/** Loads this server's OpenAPI document once. */
function loadOpenApi(): Promise<OpenApi> {
  pending ??= api.get<OpenApi>('/openapi.json').then(
    (document) => {
      cached = document
      return document
    },
    (error) => {
      pending = undefined
      throw error
    },
  )
  return pending
}

/**
 * The OpenAPI document, once loaded; it is large, so a page that may not need it asks for none. An error of a server that does
 * not respond lasts until it does.
 */
export function useOpenApi(isNeeded = true): { document: OpenApi | undefined; error: Error | undefined } {
  const [state, setState] = useState<{ document: OpenApi | undefined; error: Error | undefined }>({
    document: cached,
    error: undefined,
  })
  useEffect(() => {
    if (!isNeeded) return
    let cancelled = false
    let retry: ReturnType<typeof setTimeout> | undefined
    // Also if it is loaded: that may have happened since the first render.
    const load = () =>
      loadOpenApi().then(
        (document) =>
          !cancelled &&
          setState((state) => (state.document === document ? state : { document, error: undefined })),
        (error: Error) => {
          if (cancelled) return
          setState({ document: undefined, error })
          if (error instanceof ApiError && error.isOutage) retry = setTimeout(load, RETRY_DELAY_MS)
        },
      )
    void load()
    return () => {
      cancelled = true
      clearTimeout(retry)
    }
  }, [isNeeded])
  return state
}

/** Resolves references, and unwraps `anyOf` with `null`. */
export function resolveSchema(schema: Schema, document: OpenApi): Schema {
  if (schema.$ref !== undefined) {
    const { $ref, ...field } = schema
    const target = document.components.schemas[$ref.split('/').at(-1)!]
    return target ? { ...resolveSchema(target, document), ...field } : field
  }
  const member = schema.anyOf?.find(({ type }) => type !== 'null')
  return member ? { ...schema, ...resolveSchema(member, document) } : schema
}

/** The request body schema of an operation; `path` is a template such as `/ip_policies/{id}`. */
export function bodySchema(document: OpenApi, method: string, path: string): Schema | undefined {
  const operation = document.paths[path]?.[method.toLowerCase()]
  const schema = operation?.requestBody?.content['application/json'].schema
  return schema && resolveSchema(schema, document)
}

const ROLES: readonly Role[] = ['read_only', 'developer', 'admin']

/** Whether a role includes another one. */
export function includesRole(role: Role, required: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(required)
}

/** Whether a role may create or change what `path` lists; `ownedByOther` for an object of another user. */
export function canChange(document: OpenApi, path: string, role: Role, ownedByOther = false): boolean {
  const { 'x-required-role': baseRole = 'developer', 'x-required-role-when': conditional } =
    document.paths[path]?.post ?? {}
  const required = ownedByOther && conditional ? conditional.role : baseRole
  return includesRole(role, required)
}

/** The path template that a concrete path matches: `/ip_policies/{id}` for `/ip_policies/ipp_1`. */
export function templateOf({ paths }: OpenApi, path: string): string | undefined {
  const steps = path.split('/')
  const matches = (template: string) => {
    const templateSteps = template.split('/')
    return (
      templateSteps.length === steps.length &&
      templateSteps.every((step, index) => step.startsWith('{') || step === steps[index])
    )
  }
  // A literal path wins over a template.
  return path in paths ? path : Object.keys(paths).find(matches)
}
