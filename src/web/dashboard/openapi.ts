import { useEffect, useState } from 'react'
import { api, type Role } from './api.ts'

/** A JSON Schema as far as forms and views need to know it. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly examples?: readonly string[]
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
  /** The id prefixes of the resources that can be named here. */
  readonly 'x-refers-to'?: readonly string[]
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly 'x-required-role'?: Role
  /** A higher role that some objects of the operation need. */
  readonly 'x-required-role-when'?: { readonly role: Role }
  readonly requestBody?: { content: { 'application/json': { schema: Schema } } }
}

/** The part of an OpenAPI document that is used here. */
export interface OpenApi {
  readonly servers: readonly { url: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

let pending: Promise<OpenApi> | undefined
let cached: OpenApi | undefined

/** The document of this server, asked for once. */
export function loadOpenApi(): Promise<OpenApi> {
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

/** The document once it is there. */
export function useOpenApi(): { document: OpenApi | undefined; error: Error | undefined } {
  const [state, setState] = useState<{ document: OpenApi | undefined; error: Error | undefined }>({
    document: cached,
    error: undefined,
  })
  useEffect(() => {
    if (cached) return
    let cancelled = false
    loadOpenApi().then(
      (document) => !cancelled && setState({ document, error: undefined }),
      (error: Error) => !cancelled && setState({ document: undefined, error }),
    )
    return () => {
      cancelled = true
    }
  }, [])
  return state
}

/** What the schema says once names are looked up and `or null` is left aside. */
export function resolveSchema(schema: Schema, document: OpenApi): Schema {
  if (schema.$ref !== undefined) {
    const target = document.components.schemas[schema.$ref.split('/').at(-1)!]
    return target ? resolveSchema(target, document) : {}
  }
  const member = schema.anyOf?.find(({ type }) => type !== 'null')
  return member ? { ...schema, ...resolveSchema(member, document) } : schema
}

/** The body an operation takes, with `path` as the document writes it: `/ip_policies/{id}`. */
export function bodySchema(document: OpenApi, method: string, path: string): Schema | undefined {
  const operation = document.paths[path]?.[method.toLowerCase()]
  const schema = operation?.requestBody?.content['application/json'].schema
  return schema && resolveSchema(schema, document)
}

const ROLES: readonly Role[] = ['read_only', 'developer', 'admin']

/** Whether a role may make or change what `path` lists; `others` when it is about something that belongs to another user. */
export function canChange(document: OpenApi, path: string, role: Role, ownedByOther = false): boolean {
  const { 'x-required-role': baseRole = 'developer', 'x-required-role-when': conditional } =
    document.paths[path]?.post ?? {}
  const required = ownedByOther && conditional ? conditional.role : baseRole
  return ROLES.indexOf(role) >= ROLES.indexOf(required)
}

/** The path as the document writes it, of one that is called: `/ip_policies/{id}` of `/ip_policies/ipp_1`. */
export function templateOf({ paths }: OpenApi, path: string): string | undefined {
  const steps = path.split('/')
  const matches = (template: string) => {
    const templateSteps = template.split('/')
    return (
      templateSteps.length === steps.length &&
      templateSteps.every((step, index) => step.startsWith('{') || step === steps[index])
    )
  }
  // One that is written out goes before one with a place for any id.
  return path in paths ? path : Object.keys(paths).find(matches)
}
