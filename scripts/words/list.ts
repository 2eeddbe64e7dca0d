import { glob, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { routes } from '../../src/api/all-routes.ts'
import { documentedOpenApi } from '../../src/api/reference/openapi.ts'
import { loadErrorCatalogue } from '../../src/errors/catalogue.ts'
import { sentencesOf } from './sentences.ts'

const root = join(import.meta.dirname, '..', '..')

/** The pages that run in a browser, and the sources of those that the server renders. */
const SOURCES = [
  'src/web/**/*.{ts,tsx}',
  'src/api/reference/reference-page.ts',
  'src/dashboard/pages.ts',
  'src/edge/error-kinds.ts',
  'src/edge/login/**/*.ts',
  'src/edge/response/response.ts',
  'src/errors/pages.ts',
]

/** The texts of one source. */
export interface Words {
  readonly source: string
  readonly sentences: readonly string[]
}

/** Every text of the pages: of their sources, and of the declarations from which forms and the reference are generated. */
export async function listWords(): Promise<Words[]> {
  const files: string[] = []
  for await (const file of glob(SOURCES, { cwd: root }))
    if (!/\.test\.tsx?$|\.d\.ts$/.test(file)) files.push(file)
  const pages = await Promise.all(
    files.toSorted().map(async (source) => {
      const lang = extname(source) === '.tsx' ? 'tsx' : 'ts'
      return { source, sentences: sentencesOf(await readFile(join(root, source), 'utf8'), lang) }
    }),
  )
  const errors = await loadErrorCatalogue()
  const { tags } = documentedOpenApi() as { tags: { 'x-displayName': string; description: string }[] }
  return [
    ...pages.filter(({ sentences }) => sentences.length > 0),
    { source: 'Form labels', sentences: await listLabels() },
    { source: 'Field descriptions', sentences: fieldDescriptions() },
    {
      source: 'Groups of operations',
      sentences: tags.map((tag) => `${tag['x-displayName']}: ${tag.description}`),
    },
    { source: 'Operations', sentences: routes.map(({ summary }) => summary) },
    { source: 'Error codes', sentences: errors.map(({ code, cause, next }) => `${code}: ${cause} ${next}`) },
  ]
}

/** The labels of every field that a form can show. */
async function listLabels(): Promise<string[]> {
  // A dynamic import: scripts are type-checked without the DOM types of the pages.
  const labels = new URL('../../src/web/dashboard/form/labels.ts', import.meta.url)
  const { labelOf } = (await import(labels.href)) as { labelOf: (name: string) => string }
  return [...new Set(fieldsOf(routes.map(({ body }) => body)).map(([name]) => labelOf(name)))].toSorted()
}

/** The fields of a schema and of all schemas inside it. */
function fieldsOf(schema: unknown): [name: string, field: { description?: string }][] {
  if (typeof schema !== 'object' || schema === null) return []
  const { properties = {}, ...rest } = schema as { properties?: Record<string, object> }
  return [
    ...Object.entries(properties),
    ...Object.values(rest).flatMap(fieldsOf),
    ...Object.values(properties).flatMap(fieldsOf),
  ]
}

function fieldDescriptions(): string[] {
  return [...new Set(fieldsOf(documentedOpenApi()).flatMap(([, { description }]) => description ?? []))]
}
