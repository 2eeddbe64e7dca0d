import { type TSchema, Type } from 'typebox'
import { InvalidValue, type Resource } from '../resources/index.ts'
import { recordOf } from '../store/index.ts'
import type { Call } from './call.ts'
import {
  type Behaviour,
  create,
  envelope,
  find,
  get,
  list,
  type Page,
  remove,
  rewrite,
  update,
} from './crud.ts'
import { problem } from './problems.ts'

type Body = Record<string, unknown>

/** What a route hands to its operation, checked against the operation's schemas. */
export interface Input {
  readonly params: Readonly<Record<string, string>>
  readonly page: Page
  readonly body: Body
}

/** One route of the API: where it is, what it takes and gives, and what it does. Routes and OpenAPI are made from these. */
export interface Operation {
  /** Such as `ip_policies.create`; also the words of `adit api ip-policies create`. */
  readonly id: string
  readonly summary: string
  readonly tag: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly path: string
  readonly body?: TSchema
  readonly answer?: TSchema
  readonly status: 200 | 201 | 204
  readonly paged?: boolean
  readonly adminOnly?: boolean
  run(call: Call, input: Input): Promise<Body | undefined>
}

/** The routes that follow from a declaration and its behaviour. */
export function operationsOf(behaviour: Behaviour): Operation[] {
  const { resource } = behaviour
  const { name, path, kind, adminOnly } = resource
  const item = `${path}/{id}`
  const all: Record<string, Operation> = {
    create: {
      id: `${kind}.create`,
      summary: `Create ${article(name)}`,
      tag: kind,
      method: 'POST',
      path,
      body: withoutParents(resource, resource.createSchema),
      answer: resource.viewSchema,
      status: 201,
      adminOnly,
      run: (call, { body, params }) => create(behaviour, call, body, params),
    },
    get: {
      id: `${kind}.get`,
      summary: `Get ${article(name)}`,
      tag: kind,
      method: 'GET',
      path: item,
      answer: resource.viewSchema,
      status: 200,
      run: (call, { params }) => get(behaviour, call, params.id!, params),
    },
    list: {
      id: `${kind}.list`,
      summary: `List ${plural(name)}`,
      tag: kind,
      method: 'GET',
      path,
      answer: resource.listSchema,
      status: 200,
      paged: true,
      run: (call, { page }) => list(behaviour, call, page),
    },
    update: {
      id: `${kind}.update`,
      summary: `Update ${article(name)}`,
      tag: kind,
      method: 'PATCH',
      path: item,
      body: resource.updateSchema,
      answer: resource.viewSchema,
      status: 200,
      adminOnly,
      run: (call, { params, body }) => update(behaviour, call, params.id!, params, body),
    },
    delete: {
      id: `${kind}.delete`,
      summary: `Delete ${article(name)}`,
      tag: kind,
      method: 'DELETE',
      path: item,
      status: 204,
      adminOnly,
      async run(call, { params }) {
        await remove(behaviour, call, params.id!, params)
        return undefined
      },
    },
  }
  return [
    ...resource.operations.map((operation) => all[operation]!),
    ...resource.modules.flatMap((module) => moduleOperations(behaviour, module)),
  ]
}

/** A parent's id comes from the path, so the body does not take it. */
function withoutParents(resource: Resource, schema: TSchema): TSchema {
  if (resource.parents.length === 0) return schema
  const { properties, required = [] } = schema as {
    properties?: Record<string, TSchema>
    required?: string[]
  }
  const kept = Object.fromEntries(
    Object.entries(properties ?? {}).filter(([key]) => !resource.parents.includes(key)),
  )
  return {
    ...schema,
    properties: kept,
    required: required.filter((key) => !resource.parents.includes(key)),
  } as TSchema
}

/** Replace, get and delete of one module of an edge or route. */
function moduleOperations(behaviour: Behaviour, module: string): Operation[] {
  const { resource } = behaviour
  const { value } = resource.fields[module]!
  const key = value.key ?? module
  const path = `${resource.path}/{id}/${module}`
  const tag = resource.kind
  const what = `the ${module} module of ${article(resource.name)}`
  const answer = bare(value.read)
  return [
    {
      id: `${tag}.${module}.replace`,
      summary: `Replace ${what}`,
      tag,
      method: 'PUT',
      path,
      body: value.written,
      answer,
      status: 200,
      async run(call, { params, body }) {
        const settings = value.check(body, module)
        const row = await rewrite(behaviour, call, params.id!, params, 'replace_module', (record) => ({
          ...record,
          [key]: settings,
        })).catch((error) => {
          throw error instanceof InvalidValue ? unprefixed(error, module) : error
        })
        return value.show(recordOf(row)[key], call.showing) as Body
      },
    },
    {
      id: `${tag}.${module}.get`,
      summary: `Get ${what}`,
      tag,
      method: 'GET',
      path,
      answer,
      status: 200,
      async run(call, { params }) {
        const settings = recordOf(await find(resource, call, params.id!, params))[key]
        if (settings === null) throw problem('module_unset', module, params.id!)
        return value.show(settings, call.showing) as Body
      },
    },
    {
      id: `${tag}.${module}.delete`,
      summary: `Delete ${what}`,
      tag,
      method: 'DELETE',
      path,
      status: 204,
      async run(call, { params }) {
        await rewrite(behaviour, call, params.id!, params, 'delete_module', (record) => {
          if (record[key] === null) throw problem('module_unset', module, params.id!)
          return { ...record, [key]: null }
        })
        return undefined
      },
    },
  ]
}

function unprefixed(error: InvalidValue, module: string): InvalidValue {
  const field = error.field.startsWith(`${module}.`) ? error.field.slice(module.length + 1) : error.field
  return new InvalidValue(field, error.message)
}

/** The schema without the null that stands for an unset module. */
function bare(schema: TSchema): TSchema {
  const { anyOf, type } = schema as { anyOf?: TSchema[]; type?: unknown }
  if (anyOf !== undefined) return anyOf[0]!
  return (Array.isArray(type) ? { ...schema, type: type[0] } : schema) as TSchema
}

/** List and get of what is online now, straight from the registry of sessions. */
export function onlineOperations(
  resource: Resource,
  items: (call: Call) => Body[],
  options: { also?: (call: Call) => Promise<Body[]> } = {},
): Operation[] {
  const all = async (call: Call) => [...items(call), ...((await options.also?.(call)) ?? [])]
  return [
    {
      id: `${resource.kind}.list`,
      summary: `List ${plural(resource.name)} that are online`,
      tag: resource.kind,
      method: 'GET',
      path: resource.path,
      answer: resource.listSchema,
      status: 200,
      paged: true,
      async run(call, { page }) {
        const found = (await all(call))
          .toSorted((one, other) => (String(one.id) < String(other.id) ? 1 : -1))
          .filter((item) => page.before === undefined || String(item.id) < page.before)
          .slice(0, page.limit + 1)
        return envelope(resource.listKey, `${call.config.apiUrl()}${resource.path}`, page, found)
      },
    },
    {
      id: `${resource.kind}.get`,
      summary: `Get ${article(resource.name)} that is online`,
      tag: resource.kind,
      method: 'GET',
      path: `${resource.path}/{id}`,
      answer: resource.viewSchema,
      status: 200,
      async run(call, { params }) {
        const found = (await all(call)).find((item) => item.id === params.id)
        if (found === undefined) throw problem('not_found', resource.name, params.id!)
        return found
      },
    },
  ]
}

export function article(name: string): string {
  const letters = /^[A-Z]{2,}/.test(name) ? /^[AEFHILMNORSX]/.test(name) : /^[aeiou]/i.test(name)
  return `${letters && !name.startsWith('user') ? 'an' : 'a'} ${name}`
}

export function plural(name: string): string {
  if (name.endsWith('y')) return `${name.slice(0, -1)}ies`
  return /(s|x)$/.test(name) ? `${name}es` : `${name}s`
}

export const emptyBody = Type.Object({}, { additionalProperties: false })
