import { InvalidValue, type Resource, type Operation as Verb } from '../../resources/index.ts'
import { recordOf, withStoredSecrets } from '../../store/index.ts'
import type { ApiCall } from '../call.ts'
import { Problem, problem } from '../problems.ts'
import { type ApiRoute, type ItemPath, moduleRoutes, onlineRoutes, resourceRoutes } from '../routes.ts'
import {
  create,
  find,
  get,
  list,
  newestFirst,
  type OnlineQuery,
  type ResourceHooks,
  remove,
  rewrite,
  update,
} from './crud.ts'
import { listPage } from './list-page.ts'
import type { PageRequest } from './paging.ts'

type Body = Record<string, unknown>

/** The names in braces of a path. */
type ParameterName<P extends string> = string extends P
  ? never
  : P extends `${string}{${infer Name}}${infer Rest}`
    ? Name | ParameterName<Rest>
    : never

/** The values of the parameters that a path names in braces; those of parents are read by their names. */
type PathParameters<P extends string> = Readonly<Record<string, string> & Record<ParameterName<P>, string>>

/** The validated input of an operation. */
export interface OperationInput<P extends string = string> {
  readonly params: PathParameters<P>
  readonly page: PageRequest
  readonly body: Body
}

/** A route with its handler. */
export interface ApiOperation extends ApiRoute {
  run(call: ApiCall, input: OperationInput): Promise<Body | undefined>
}

/** Adds a handler to a route. It is mounted at the path of the route, which therefore gives the type of `params`. */
export function operation<P extends string>(
  route: ApiRoute<P>,
  run: (call: ApiCall, input: OperationInput<P>) => Promise<Body | undefined>,
): ApiOperation {
  return { ...route, run }
}

/** The operations of a declared resource with its hooks. */
export function operationsOf(hooks: ResourceHooks): ApiOperation[] {
  const { resource } = hooks
  const routes = resourceRoutes(resource)
  const operations: Record<Verb, ApiOperation> = {
    create: operation(routes.create, (call, { body, params }) => create(hooks, call, body, params)),
    get: operation(routes.get, (call, { params }) => get(hooks, call, params.id, params)),
    list: operation(routes.list, (call, { page }) => list(hooks, call, page)),
    update: operation(routes.update, (call, { params, body }) =>
      update(hooks, call, params.id, params, body),
    ),
    delete: operation(routes.delete, async (call, { params }) => {
      await remove(hooks, call, params.id, params)
      return undefined
    }),
  }
  return [
    ...resource.operations.map((verb) => operations[verb]),
    ...resource.modules.flatMap((module) => moduleOperations(hooks, module)),
  ]
}

/** Replace, get and delete of one module of an edge or route. */
function moduleOperations(hooks: ResourceHooks, module: string): ApiOperation[] {
  const { resource } = hooks
  const { value } = resource.fields[module]!
  const routes = moduleRoutes(resource, module)
  const key = value.key ?? module
  return [
    operation(routes.replace, async (call, { params, body }) => {
      const row = await rewrite(hooks, call, params.id, params, (record) => {
        const input = withStoredSecrets({ [key]: body }, record, resource.revealed)
        return { ...record, [key]: value.check(input[key], key) }
      }).catch((error) => {
        throw relativizeError(key, error)
      })
      return value.render(recordOf(row)[key], call.renderContext) as Body
    }),
    operation(routes.get, async (call, { params }) => {
      const row = await find(resource, call, params.id, params)
      // Undefined in a record of an earlier release that did not have the module.
      const settings = recordOf(row)[key] ?? null
      if (settings === null) throw problem('module_unset', module, params.id)
      if (call.renderContext.secrets && value.revealed?.some((secret) => row.secrets?.[`${key}.${secret}`]))
        call.secrets.shown = true
      return value.render(settings, call.renderContext) as Body
    }),
    operation(routes.delete, async (call, { params }) => {
      await rewrite(hooks, call, params.id, params, (record) => {
        if ((record[key] ?? null) === null) throw problem('module_unset', module, params.id)
        return { ...record, [key]: null }
      })
      return undefined
    }),
  ]
}

/**
 * Adapts an error about a whole resource for a route that writes one part of it: field names become relative to the
 * part, and fields outside the request are not named.
 */
export function relativizeError(part: string, error: unknown): unknown {
  const prefix = `${part}.`
  const stripPrefix = (text: string) => (text.startsWith(prefix) ? text.slice(prefix.length) : text)
  const relativeField = (field: string) => (field.startsWith(prefix) ? stripPrefix(field) : undefined)
  if (error instanceof InvalidValue)
    return new InvalidValue(
      error.field && relativeField(error.field),
      stripPrefix(error.message),
      error.mistake,
    )
  if (!(error instanceof Problem)) return error
  const { field, ...details } = error.details
  if (field === undefined) return error
  const relative = relativeField(field)
  return new Problem(
    error.code,
    error.status,
    stripPrefix(error.message),
    relative ? { ...details, field: relative } : details,
  )
}

/** Renders an online object with the declared fields only. */
function renderOnline(resource: Resource, item: Body, { renderContext }: ApiCall): Body {
  return resource.render({}, item, renderContext)
}

/**
 * List and get of objects that are not stored rows; `items` may return more than the query asks for. `routes` are by
 * default those of objects that are online.
 */
export function onlineOperations(
  resource: Resource,
  items: (call: ApiCall, query: OnlineQuery) => Body[] | Promise<Body[]>,
  routes: { readonly list: ApiRoute; readonly get: ApiRoute<ItemPath> } = onlineRoutes(resource),
): ApiOperation[] {
  return [
    operation(routes.list, (call, { page }) => {
      return listPage({ ...resource, itemSchema: resource.viewSchema }, call, page, async (before, limit) =>
        // One more than asked for: the cursor itself.
        newestFirst(await items(call, { from: before, limit: limit + 1 }), before)
          .slice(0, limit)
          .map((item) => renderOnline(resource, item, call)),
      )
    }),
    operation(routes.get, async (call, { params }) => {
      const item = (await items(call, { from: params.id, limit: 1 })).find(({ id }) => id === params.id)
      if (item === undefined) throw problem('not_found', resource.name, params.id)
      return renderOnline(resource, item, call)
    }),
  ]
}
