// Every method of the official JavaScript client, found by looking at the client itself.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { toCamelCase } from '../support/camel-case.ts'
import { createClientPlan, type ServicePlan } from '../support/client-plan.ts'
import type { Body } from '../support/samples.ts'

type Service = Record<string, (argument?: unknown) => Promise<Body | Body[]>>

const { Ngrok } = createRequire(import.meta.url)('@ngrok/ngrok-api') as {
  Ngrok: new (config: { baseUrl: string; apiToken: string }) => object
}

/** The client writes the keys of maps in snake case, so that ids with capitals do not arrive. */
const MANGLED: Readonly<Record<string, string>> = { 'backends/weighted': 'backends' }

/** The public methods of a service. */
function methodsOf(service: object): string[] {
  const prototype = Object.getPrototypeOf(service)
  if (prototype === Object.prototype) return []
  return Object.getOwnPropertyNames(prototype).filter((name) => !/^(?:constructor$|_)/.test(name))
}

/** Every service by its path in the other official clients, such as `edges/https_routes`. */
function servicesOf(client: object): Map<string, Service> {
  const services = new Map<string, Service>()
  const collect = (parent: object, group: string) => {
    for (const [name, member] of Object.entries(parent)) {
      if (name === 'httpClient' || typeof member !== 'object') continue
      if (methodsOf(member).length > 0) services.set(pathOf(group, name), member)
      else collect(member, name)
    }
  }
  collect(client, '')
  return services
}

const toSnakeCase = (name: string) =>
  name.replace('OAuth', 'Oauth').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** `edges.edgesHttpsRoutes` is `edges/https_routes`. */
function pathOf(group: string, name: string): string {
  const word = toSnakeCase(name)
  if (group === '') return word
  if (group === 'edgeModules')
    return `edge_modules/${word.replace(/^edge_route/, 'https_edge_route').replace(/_module$/, '')}`
  return `${group}/${word.replace(new RegExp(`^${group}_|_${group}$`), '')}`
}

/** The fields under the client's names, without what it mangles. */
function toArgument(fields: Body, path: string): unknown {
  return toCamelCase(Object.fromEntries(Object.entries(fields).filter(([key]) => key !== MANGLED[path])))
}

/** Creates an object, calls the other methods, and deletes it; answers the number of calls. */
async function walk(service: Service, plan: ServicePlan): Promise<number> {
  const methods = methodsOf(service)
  let item = plan.item
  const argumentOf = (method: string): unknown => {
    if (method === 'create') return toArgument(plan.create ?? {}, plan.service)
    if (method === 'replace') return toArgument({ ...item, module: plan.module }, plan.service)
    if (method === 'update') return toArgument({ ...item, ...plan.update }, plan.service)
    if (method === 'list' && 'id' in item) return undefined
    // An id alone is not an object.
    return Object.keys(item).length === 1 ? item.id : toArgument(item, plan.service)
  }
  const select = (...names: string[]) => names.filter((name) => methods.includes(name))
  const others = methods.filter((name) => !['create', 'replace', 'delete'].includes(name))
  // In reverse order, the management of a certificate ends before the certificate is detached.
  for (const method of [...select('create', 'replace'), ...others.sort().reverse(), ...select('delete')]) {
    const answer = await service[method]!(argumentOf(method)).catch((cause) =>
      assert.fail(`${plan.service}.${method}: ${JSON.stringify(cause)}`),
    )
    if (method === 'create' && 'id' in answer) item = { ...item, id: answer.id }
    if (method === 'list') assert.notDeepEqual(answer, [], `${plan.service}.list is empty`)
  }
  return methods.length
}

test('the official client calls every method of its services', async (t) => {
  const paths = [...servicesOf(new Ngrok({ baseUrl: 'http://127.0.0.1:1', apiToken: 'none' })).keys()]
  const plan = await createClientPlan(t, paths)
  const services = servicesOf(new Ngrok({ baseUrl: plan.base_url, apiToken: plan.api_key }))

  let calls = 0
  for (const each of plan.services) calls += await walk(services.get(each.service)!, each)

  assert.equal(calls, 213)
})
