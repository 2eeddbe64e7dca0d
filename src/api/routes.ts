import { type TSchema, Type } from 'typebox'
import type { RequiredRole, Resource } from '../resources/index.ts'

/**
 * One route of the API as clients see it: path, request and response. `ApiOperation` adds the handler, so that API
 * clients can load the routes without the server.
 */
export interface ApiRoute<P extends string = string> {
  /** Tag and action, such as `ip_policies.create`; also the words of `adit api ip-policies create`. */
  readonly id: string
  readonly summary: string
  readonly tag: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly path: P
  readonly body?: TSchema
  readonly response?: TSchema
  readonly status: 200 | 201 | 204
  /** For a list in pages: the prefix of the ids of its items. */
  readonly paged?: string
  /** Fields by whose values the list can be narrowed. */
  readonly selectBy?: readonly string[]
  /** The role and guard a caller needs. */
  readonly requires: RequiredRole
}

/** The path of an item, or of a part of it. */
export type ItemPath = `${string}/{id}${string}`

/** The id of a route without its tag: `create`, `backend.replace`. */
export function actionOf({ id, tag }: ApiRoute): string {
  return id.slice(tag.length + 1)
}

/** The CRUD routes of a stored resource. */
export function resourceRoutes(
  resource: Resource,
): Record<'create' | 'list', ApiRoute> & Record<'get' | 'update' | 'delete', ApiRoute<ItemPath>> {
  const { name, path, tag, roles, viewSchema: response } = resource
  const item = `${path}/{id}` as const
  return {
    create: {
      id: `${tag}.create`,
      summary: `Create ${withArticle(name)}`,
      tag,
      method: 'POST',
      path,
      body: withoutParents(resource, resource.createSchema),
      response,
      status: 201,
      requires: roles.change,
    },
    get: {
      id: `${tag}.get`,
      summary: `Get ${withArticle(name)}`,
      tag,
      method: 'GET',
      path: item,
      response,
      status: 200,
      requires: roles.read,
    },
    list: {
      id: `${tag}.list`,
      summary: `List ${pluralize(name)}`,
      tag,
      method: 'GET',
      path,
      response: resource.listSchema,
      status: 200,
      paged: resource.prefix,
      ...(resource.selectBy.length > 0 && { selectBy: resource.selectBy }),
      requires: roles.read,
    },
    update: {
      id: `${tag}.update`,
      summary: `Update ${withArticle(name)}`,
      tag,
      method: 'PATCH',
      path: item,
      body: resource.updateSchema,
      response,
      status: 200,
      requires: roles.change,
    },
    delete: {
      id: `${tag}.delete`,
      summary: `Delete ${withArticle(name)}`,
      tag,
      method: 'DELETE',
      path: item,
      status: 204,
      requires: roles.change,
    },
  }
}

/** Replace, get and delete of one module of an edge or route. */
export function moduleRoutes(
  resource: Resource,
  module: string,
): Record<'replace' | 'get' | 'delete', ApiRoute<ItemPath>> {
  const { value } = resource.fields[module]!
  const { tag } = resource
  const path = `${resource.path}/{id}/${module}` as const
  const what = `the ${module} module of ${withArticle(resource.name)}`
  const response = withoutNull(value.read)
  return {
    replace: {
      id: `${tag}.${module}.replace`,
      summary: `Replace ${what}`,
      tag,
      method: 'PUT',
      path,
      body: value.written,
      response,
      status: 200,
      requires: resource.roles.change,
    },
    get: {
      id: `${tag}.${module}.get`,
      summary: `Get ${what}`,
      tag,
      method: 'GET',
      path,
      response,
      status: 200,
      requires: resource.roles.read,
    },
    delete: {
      id: `${tag}.${module}.delete`,
      summary: `Delete ${what}`,
      tag,
      method: 'DELETE',
      path,
      status: 204,
      requires: resource.roles.change,
    },
  }
}

/** List and get of online objects. */
export function onlineRoutes(resource: Resource): { list: ApiRoute; get: ApiRoute<ItemPath> } {
  const { list, get } = resourceRoutes(resource)
  return {
    list: { ...list, summary: `${list.summary} that are online` },
    get: { ...get, summary: `${get.summary} that is online` },
  }
}

/** Removes the parents from the body's schema: their ids are in the path. */
function withoutParents(resource: Resource, schema: TSchema): TSchema {
  if (resource.parents.length === 0) return schema
  const { properties, required = [] } = schema as {
    properties?: Record<string, TSchema>
    required?: string[]
  }
  const bodyProperties = Object.fromEntries(
    Object.entries(properties ?? {}).filter(([key]) => !resource.parents.includes(key)),
  )
  return {
    ...schema,
    properties: bodyProperties,
    required: required.filter((key) => !resource.parents.includes(key)),
  } as TSchema
}

/** The schema without null, which stands for an unset module. */
function withoutNull(schema: TSchema): TSchema {
  const { anyOf, type } = schema as { anyOf?: TSchema[]; type?: unknown }
  if (anyOf !== undefined) return anyOf[0]!
  return (Array.isArray(type) ? { ...schema, type: type[0] } : schema) as TSchema
}

/** The name with its indefinite article. */
export function withArticle(name: string): string {
  const startsWithVowelSound = /^[A-Z]{2,}/.test(name) ? /^[AEFHILMNORSX]/.test(name) : /^[aeiou]/i.test(name)
  return `${startsWithVowelSound && !name.startsWith('user') ? 'an' : 'a'} ${name}`
}

/** The plural of the name of a resource. */
export function pluralize(name: string): string {
  if (/[^aeiou]y$/.test(name)) return `${name.slice(0, -1)}ies`
  if (/s$/.test(name) && !/ss$/.test(name)) return name
  return /(s|x)$/.test(name) ? `${name}es` : `${name}s`
}

/** The body of commands: an empty object. */
export const emptyBody = Type.Object({}, { additionalProperties: false })
