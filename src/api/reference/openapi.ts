import { idPattern } from '../../base/values/id.ts'
import { allResources, GUARDS, ServiceUser } from '../../resources/index.ts'
import { accountRoutes } from '../account/routes.ts'
import { routes } from '../all-routes.ts'
import { catalogue } from '../problems.ts'
import { pluralize } from '../routes.ts'

type Json = Record<string, unknown>

const problemSchema = {
  type: 'object',
  title: 'Problem',
  required: ['error_code', 'status_code', 'msg', 'details'],
  properties: {
    error_code: {
      type: 'string',
      pattern: '^ERR_ADIT_[0-9]+$',
      description: 'The error code, explained in the list of error codes.',
    },
    status_code: { type: 'integer', description: 'The HTTP status.', example: 503 },
    msg: { type: 'string', description: 'The cause and the next step.' },
    details: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Details for programs, such as the invalid field.',
    },
  },
}

/** What each tag is called and for. */
const TAGS = new Map<string, { readonly name: string; readonly description: string }>([
  ...[...allResources, ServiceUser].map((resource) => [resource.tag, resource] as const),
  ['audit_events', { name: 'audit event', description: 'A record of every change and every sign-in.' }],
  ['account', { name: 'account', description: 'The whole account as one document.' }],
  ['root', { name: 'root', description: 'What the API holds, and who is calling it.' }],
])

const pagingParameters = (prefix: string) => [
  {
    name: 'limit',
    in: 'query',
    description: 'The maximum number of items.',
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 100 },
  },
  {
    name: 'before_id',
    in: 'query',
    description: 'Only items created before this one.',
    schema: { type: 'string', pattern: idPattern([prefix]) },
  },
  {
    name: 'filter',
    in: 'query',
    description:
      'Only items for which this CEL expression over `obj` is true, such as `obj.description.contains("test")`.',
    schema: { type: 'string' },
  },
]

/** A parameter that narrows a list to items with one of the given values. */
const selectParameter = (name: string) => ({
  name,
  in: 'query',
  description: `Only items with one of these values of \`${name}\`. May be repeated.`,
  schema: { type: 'array', items: { type: 'string' }, maxItems: 100 },
})

const PARAMETER_DESCRIPTIONS: Record<string, string> = {
  id: 'The ID of the object.',
  edge_id: 'The ID of the HTTPS edge.',
  subscription_id: 'The ID of the event subscription.',
  type: 'The event type.',
}

/** `IP policy rule` becomes `IPPolicyRule`, `ip_restriction` becomes `IpRestriction`. */
function componentName(title: string): string {
  return title
    .split(/[\s_]+/)
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join('')
}

/** Ends the names of schemas that differ in requests and responses. */
const REQUEST = 'Request'

/** Collects schemas with a title, so that the document references them instead of repeating them. */
class Components {
  readonly #names = new Map<string, string>()
  readonly schemas: Record<string, unknown> = {}

  /** A copy with titled schemas replaced by references; `suffix` separates requests and responses of one title. */
  share(schema: unknown, suffix: string, tag: string): unknown {
    if (Array.isArray(schema)) return schema.map((item) => this.share(item, suffix, tag))
    if (typeof schema !== 'object' || schema === null) return schema
    const shared = Object.fromEntries(
      Object.entries(schema).map(([key, value]) => [key, this.share(value, suffix, tag)]),
    )
    // Account documents have names in place of ids.
    const hasNames = tag === accountRoutes.apply.tag && 'x-refers-to' in shared
    if (suffix === REQUEST && !hasNames) Object.assign(shared, shared['x-documented'])
    if (shared['x-empty-means-unset'] && shared.pattern !== undefined) shared.pattern = `^$|${shared.pattern}`
    delete shared['x-documented']
    // The description and the example are those of the field, not of the shared schema.
    const { title, type, description, example, ...rest } = shared
    if (typeof title !== 'string' || shared.properties === undefined) return shared
    const $ref = `#/components/schemas/${this.#register({ ...rest, type: 'object' }, title, suffix, tag)}`
    const texts = {
      ...(description !== undefined && { description }),
      ...(example !== undefined && { example }),
    }
    return { ...(Array.isArray(type) ? { anyOf: [{ $ref }, { type: 'null' }] } : { $ref }), ...texts }
  }

  #register(schema: Json, title: string, suffix: string, tag: string): string {
    // Generators would take a title for the name, and requests and responses share titles.
    const key = JSON.stringify([title, schema])
    const existing = this.#names.get(key)
    if (existing !== undefined) return existing
    const baseName = `${componentName(title)}${suffix}`
    const name = baseName in this.schemas ? `${componentName(tag)}${baseName}` : baseName
    this.#names.set(key, name)
    this.schemas[name] = schema
    return name
  }
}

/** The OpenAPI 3.1 document, generated from the list of routes that the server mounts. */
export function createOpenApi(options: { serverUrl: string; version: string }): Json {
  const paths: Record<string, Json> = {}
  const components = new Components()
  for (const operation of routes) {
    paths[operation.path] ??= {}
    paths[operation.path]![operation.method.toLowerCase()] = {
      operationId: operation.id,
      summary: operation.summary,
      tags: [operation.tag],
      'x-required-role': operation.requires.role,
      ...(operation.requires.guard && { 'x-required-role-when': GUARDS[operation.requires.guard] }),
      parameters: [
        ...[...operation.path.matchAll(/\{([a-z_]+)\}/g)].map(([, name]) => ({
          name,
          in: 'path',
          required: true,
          description: PARAMETER_DESCRIPTIONS[name!] ?? '',
          schema: { type: 'string' },
        })),
        ...(operation.paged === undefined ? [] : pagingParameters(operation.paged)),
        ...(operation.selectBy ?? []).map(selectParameter),
      ],
      ...(operation.body && {
        requestBody: {
          required: hasRequired(operation.body),
          content: {
            'application/json': { schema: components.share(operation.body, REQUEST, operation.tag) },
          },
        },
      }),
      responses: {
        [operation.status]: operation.response
          ? {
              description: 'Success.',
              content: {
                'application/json': { schema: components.share(operation.response, '', operation.tag) },
              },
            }
          : { description: 'Success, without a body.' },
        default: { $ref: '#/components/responses/Error' },
      },
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Adit management API',
      version: options.version,
      description:
        'Manages one account of the platform. Every call carries the header `Authorization: Bearer <API key>`; bodies are JSON.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: options.serverUrl }],
    security: [{ key: [] }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map(describeTag),
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
      responses: {
        Error: {
          description: 'Rejected. The list of error codes explains each code.',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      },
      schemas: {
        ...components.schemas,
        Problem: {
          ...problemSchema,
          'x-codes': Object.fromEntries(
            Object.entries(catalogue).map(([name, { code }]) => [`ERR_ADIT_${code}`, name]),
          ),
        },
      },
    },
  }
}

/** A group of operations; `x-displayName` is what documentation shows instead of the name. */
function describeTag(name: string): Json {
  const tag = TAGS.get(name)
  if (tag === undefined) throw new Error(`The tag ${name} has no description.`)
  const title = name === tag.name ? tag.name : pluralize(tag.name)
  return {
    name,
    'x-displayName': `${title.charAt(0).toUpperCase()}${title.slice(1)}`,
    description: tag.description,
  }
}

function hasRequired(schema: unknown): boolean {
  return ((schema as { required?: string[] }).required ?? []).length > 0
}

/** The committed document. It names no particular server, so only API changes change it. */
export function documentedOpenApi(): Json {
  return createOpenApi({ serverUrl: 'http://127.0.0.1:4080', version: '2' })
}
