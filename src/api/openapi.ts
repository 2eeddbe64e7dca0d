import { allResources, refSchema } from '../resources/index.ts'
import { routes } from './all-routes.ts'
import { catalogue } from './problems.ts'

type Json = Record<string, unknown>

const problemSchema = {
  type: 'object',
  title: 'Problem',
  required: ['error_code', 'status_code', 'msg', 'details'],
  properties: {
    error_code: { type: 'string', pattern: '^ERR_ADIT_[0-9]+$' },
    status_code: { type: 'integer' },
    msg: { type: 'string' },
    details: { type: 'object', additionalProperties: { type: 'string' } },
  },
}

const PAGING = [
  {
    name: 'limit',
    in: 'query',
    description: 'How many items at most.',
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 100 },
  },
  {
    name: 'before_id',
    in: 'query',
    description: 'Only items created before this one.',
    schema: { type: 'string' },
  },
]

const PARENT_NAMES: Record<string, string> = {
  id: 'The id of the object.',
  edge_id: 'The id of the HTTPS edge.',
  subscription_id: 'The id of the event subscription.',
  type: 'The event type.',
}

/** Schemas that many routes share, by the name they have in the document. */
const shared = new Map<unknown, string>([
  [refSchema, 'Ref'],
  ...allResources.map(({ viewSchema, name }) => [viewSchema, componentName(name)] as const),
])

/** `IPPolicyRule` of `IP policy rule`. */
function componentName(name: string): string {
  return name
    .split(/\s+/)
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join('')
}

/** A copy in which shared schemas are named instead of repeated; `whole` keeps the outermost as it is. */
function named(schema: unknown, whole = false): unknown {
  if (Array.isArray(schema)) return schema.map((item) => named(item))
  if (typeof schema !== 'object' || schema === null) return schema
  const name = whole ? undefined : shared.get(schema)
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` }
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, named(value)]))
}

/** The OpenAPI 3.1 document of all routes, worked out from the same list that serves them. */
export function createOpenApi(options: { serverUrl: string; version: string }): Json {
  const paths: Record<string, Json> = {}
  for (const operation of routes) {
    paths[operation.path] ??= {}
    paths[operation.path]![operation.method.toLowerCase()] = {
      operationId: operation.id,
      summary: operation.summary,
      tags: [operation.tag],
      parameters: [
        ...[...operation.path.matchAll(/\{([a-z_]+)\}/g)].map(([, name]) => ({
          name,
          in: 'path',
          required: true,
          description: PARENT_NAMES[name!] ?? '',
          schema: { type: 'string' },
        })),
        ...(operation.paged ? PAGING : []),
      ],
      ...(operation.body && {
        requestBody: {
          required: hasRequired(operation.body),
          content: { 'application/json': { schema: named(operation.body) } },
        },
      }),
      responses: {
        [operation.status]: operation.answer
          ? { description: 'Done.', content: { 'application/json': { schema: named(operation.answer) } } }
          : { description: 'Done; no body.' },
        default: {
          description: 'Refused.',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Problem' } } },
        },
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
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
      schemas: {
        ...Object.fromEntries([...shared].map(([schema, name]) => [name, named(schema, true)])),
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

function hasRequired(schema: unknown): boolean {
  return ((schema as { required?: string[] }).required ?? []).length > 0
}
