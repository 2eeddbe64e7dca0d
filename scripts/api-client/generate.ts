// The two generated files of src/api-client, from the OpenAPI document.
import { comment, fieldsOf, type Schema, typeOf } from './schema-type.ts'

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly description: string
  readonly schema: Schema
}

interface Content {
  readonly content?: { readonly 'application/json': { readonly schema: Schema } }
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly parameters: readonly Parameter[]
  readonly requestBody?: Content & { readonly required: boolean }
  readonly responses: Readonly<Record<string, Content>>
}

/** The parts of the OpenAPI document that the client is generated from. */
export interface Document {
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** An operation with what the client needs to know of it. */
interface Method extends Operation {
  readonly verb: string
  readonly path: string
  /** Its name in the client: `['reservedDomains', 'create']`. */
  readonly words: readonly string[]
  /** The field of a page that holds the objects, if the operation is a list with pages. */
  readonly listKey: string | undefined
  readonly response: Schema | undefined
}

/** Methods by name, and groups of them. */
interface Group extends Map<string, Method | Group> {}

const HEADER = '// Generated from the declarations of the API by `npm run openapi`. Do not edit.\n'

/** `src/api-client/operations.ts`: method and path of each operation, and the field of a page that holds the objects. */
export function generateOperations(document: Document): string {
  const rows = methodsOf(document).map(({ words, verb, path, listKey }) => {
    const values = [verb, path, ...(listKey === undefined ? [] : [listKey])]
    return `  '${words.join('.')}': [${values.map((value) => `'${value}'`).join(', ')}],\n`
  })
  return `${HEADER}
/** Method and path of each operation by its name in the client, and for lists the field that holds the objects. */
export const OPERATIONS: Readonly<Record<string, readonly [method: string, path: string, listKey?: string]>> = {
${rows.join('')}}
`
}

/** `src/api-client/types.ts`: the objects of the API, and the interface of the client. */
export function generateTypes(document: Document): string {
  const objects = Object.entries(document.components.schemas).map(
    ([name, schema]) =>
      `${comment(schema.description, '')}export interface ${name} ${fieldsOf(schema, '')}\n`,
  )
  const root: Group = new Map()
  for (const method of methodsOf(document)) insert(root, method.words, method)
  const groups = document.tags.map(({ name, description }) => {
    const key = camelCase(name)
    return `${comment(description, '  ')}  readonly ${key}: ${groupType(root.get(key) as Group, '  ')}\n`
  })
  return `${HEADER}import type { CallOptions, Page } from './call-options.ts'

${objects.join('\n')}
/** Every operation of the management API, grouped by resource. */
export interface Operations {
${groups.join('')}}
`
}

function insert(group: Group, [word = '', ...rest]: readonly string[], method: Method): void {
  if (rest.length === 0) {
    group.set(word, method)
    return
  }
  const inner = group.get(word) ?? new Map()
  group.set(word, inner)
  insert(inner as Group, rest, method)
}

function groupType(group: Group, indent: string): string {
  const inner = `${indent}  `
  const members = [...group].map(([name, member]) =>
    member instanceof Map
      ? `${inner}readonly ${name}: ${groupType(member, inner)}\n`
      : signatures(name, member, inner),
  )
  return `{\n${members.join('')}${indent}}`
}

/** The signature of a method; a list with pages has a second one, which reads all of them. */
function signatures(name: string, method: Method, indent: string): string {
  const { summary, parameters, requestBody, listKey, response } = method
  const body = requestBody?.content?.['application/json'].schema
  const query = parameters.filter((parameter) => parameter.in === 'query')
  const args = [
    ...parameters.filter((each) => each.in === 'path').map((each) => `${camelCase(each.name)}: string`),
    ...(body === undefined ? [] : [`body${requestBody?.required ? '' : '?'}: ${typeOf(body, indent)}`]),
    ...(query.length === 0 ? [] : [`query?: ${queryType(query, indent)}`]),
    'options?: CallOptions',
  ].join(', ')
  const declare = (method: string, text: string, result: string) =>
    `${comment(text, indent)}${indent}${method}(${args}): ${result}\n`
  if (listKey === undefined)
    return declare(
      name,
      `${summary}.`,
      `Promise<${response === undefined ? 'void' : typeOf(response, indent)}>`,
    )
  const item = typeOf(response!.properties![listKey]!.items!, indent)
  return [
    declare(name, `${summary}: one page.`, `Promise<Page<'${listKey}', ${item}>>`),
    declare(`${name}All`, `${summary}: the objects of all pages.`, `AsyncIterable<${item}>`),
  ].join('')
}

function queryType(query: readonly Parameter[], indent: string): string {
  const fields = query.map(({ name, description, schema }) => [name, { ...schema, description }])
  return fieldsOf({ properties: Object.fromEntries(fields) }, indent)
}

function methodsOf({ paths }: Document): Method[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([verb, operation]) => {
      const [success] = Object.values(operation.responses)
      const response = success?.content?.['application/json'].schema
      const fields = Object.entries(response?.properties ?? {})
      const isPaged = operation.parameters.some(({ name }) => name === 'before_id')
      return {
        ...operation,
        verb: verb.toUpperCase(),
        path,
        words: operation.operationId.split('.').map(camelCase),
        listKey: isPaged ? fields.find(([, { type }]) => type === 'array')?.[0] : undefined,
        response,
      }
    }),
  )
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
