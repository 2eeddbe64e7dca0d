import { escapeHtml, renderInlineCode } from '../../base/http/html.ts'
import {
  composeExample,
  type FieldSchema,
  type FieldSchemas,
  listFields,
} from '../../base/values/schema-fields.ts'

type Json = Record<string, unknown>

/** The fields as a table. Responses contain all fields, so only requests mark the required ones. */
function renderFields(schema: FieldSchema, schemas: FieldSchemas, isRequest: boolean): string {
  const rows = listFields(schema, schemas).map(
    ({ path, type, required, description, limits }) =>
      `<tr><td><code>${escapeHtml(path)}</code>${isRequest && required ? ' <b>required</b>' : ''}</td><td>${escapeHtml(type)} <small>${escapeHtml(limits.join(', '))}</small></td><td>${escapeHtml(description)}</td></tr>`,
  )
  if (rows.length === 0) return '<p>No fields.</p>'
  return `<table><thead><tr><th>Field</th><th>Type</th><th>Description</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}

function renderExample(schema: FieldSchema, schemas: FieldSchemas): string {
  const example = composeExample(schema, schemas)
  return Object.keys(example).length === 0
    ? ''
    : `<h3>Example</h3><pre><code>${escapeHtml(JSON.stringify(example, null, 2))}</code></pre>`
}

/** The role that an operation requires. */
function formatRole(operation: Json): string {
  const { role, when } = (operation['x-required-role-when'] ?? {}) as { role?: string; when?: string }
  return `${operation['x-required-role']}${role === undefined ? '' : `; ${role} when ${when}`}`
}

type Operation = { readonly method: string; readonly path: string; readonly operation: Json }

/** Every operation of a document by its tag. */
function operationsByTag(document: Json): Map<string, Operation[]> {
  const paths = document.paths as Record<string, Record<string, Json>>
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  )
  return Map.groupBy(operations, ({ operation }) => String((operation.tags as string[])[0]))
}

function renderSummary({ method, path, operation }: Operation): string {
  return `<span class="method ${method}">${method.toUpperCase()}</span> <code>${escapeHtml(path)}</code> <span>${escapeHtml(String(operation.summary))}</span>`
}

const idOf = ({ operation }: Operation) => escapeHtml(String(operation.operationId))

function renderOperation(entry: Operation, schemas: FieldSchemas): string {
  const { operation } = entry
  const body = (operation.requestBody as { content: Record<string, { schema: FieldSchema }> } | undefined)
    ?.content['application/json']?.schema
  const responses = operation.responses as Record<
    string,
    { content?: Record<string, { schema: FieldSchema }> }
  >
  const [status, response] = Object.entries(responses)[0]!
  const responseSchema = response.content?.['application/json']?.schema
  return `<section class="operation" id="${idOf(entry)}"><h2>${renderSummary(entry)}</h2>
<p>Required role: ${escapeHtml(formatRole(operation))}</p>${body ? `<h3>Body</h3>${renderFields(body, schemas, true)}${renderExample(body, schemas)}` : ''}<h3>Response ${escapeHtml(status)}</h3>${responseSchema ? renderFields(responseSchema, schemas, false) : '<p>No body.</p>'}</section>`
}

/** The list of all operations, and by its tag a page of the operations of each. They work without scripts. */
export function referencePages(document: Json): { list: string; tags: ReadonlyMap<string, string> } {
  const { schemas } = document.components as { schemas: FieldSchemas }
  const byTag = operationsByTag(document)
  const groups = document.tags as { name: string; 'x-displayName': string; description: string }[]
  const groupOf = (tag: string) => groups.find(({ name }) => name === tag)!
  const titleOf = (tag: string) => groupOf(tag)['x-displayName']
  const link = (tag: string, operation: Operation) =>
    `<li class="operation" id="${idOf(operation)}"><a href="/reference/${escapeHtml(tag)}#${idOf(operation)}">${renderSummary(operation)}</a></li>`
  const list = [...byTag].map(
    ([tag, operations]) =>
      `<section id="tag-${escapeHtml(tag)}"><h2><a href="/reference/${escapeHtml(tag)}">${escapeHtml(titleOf(tag))}</a></h2><ul>${operations.map((operation) => link(tag, operation)).join('\n')}</ul></section>`,
  )
  const tags = [...byTag].map(([tag, operations]): [string, string] => [
    tag,
    renderPage(
      `${titleOf(tag)} · Adit management API`,
      `<header><p><a href="/reference">Adit management API</a></p><h1>${escapeHtml(titleOf(tag))}</h1><p>${renderInlineCode(groupOf(tag).description)}</p></header>
<main>${operations.map((operation) => renderOperation(operation, schemas)).join('\n')}</main>`,
    ),
  ])
  return {
    list: renderPage(
      'Adit management API',
      `<header><h1>Adit management API</h1><p>${renderInlineCode(String((document.info as Json).description))} Programs read <a href="/openapi.json">/openapi.json</a>.</p>
<label>Filter <input id="filter" type="search" placeholder="Path or words"></label></header>
<main>${list.join('\n')}</main>
<script src="/reference.js"></script>`,
    ),
    tags: new Map(tags),
  }
}

/** The icon of the other pages, inline: the files of those have names that change with each build. */
const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M3 29V16a13 13 0 0 1 26 0v13h-6V17a7 7 0 0 0-14 0v12z" fill="#b7791f"/><circle cx="16" cy="21" r="3" fill="#f0b429"/></svg>',
)}`

const renderPage = (title: string, content: string) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><link rel="icon" href="${ICON}"><link rel="stylesheet" href="/reference.css"></head><body>
${content}</body></html>`

/** The colours and type of the dashboard, which links here. */
export const referenceStyle = `:root{color-scheme:light dark;--paper:light-dark(#faf9f6,#171614);--raised:light-dark(#fff,#1f1e1b);--line:light-dark(#dcd8cf,#3a3732);
--ink:light-dark(#1d1b17,#ece8e0);--quiet:light-dark(#635d52,#a9a294);--accent:light-dark(#8a5200,#f0b429);
font:14px/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
*{box-sizing:border-box}body{max-width:62rem;margin:0 auto;padding:2rem 1rem 4rem;background:var(--paper);color:var(--ink)}
h1{font-size:24px;margin:0}h2{font-size:16px;margin:2rem 0 .6rem}.operation h2{margin:0;font-weight:inherit}ul{margin:0;padding:0;list-style:none}li a{color:inherit;text-decoration:none}h3{font-size:14px;margin:.8rem 0 .3rem}header p,small{color:var(--quiet)}a{color:var(--accent)}
code{font:12.5px/1.5 ui-monospace,"SF Mono","DejaVu Sans Mono",Menlo,Consolas,monospace;overflow-wrap:anywhere}
:focus-visible{outline:2px solid var(--accent);outline-offset:1px}
.operation{background:var(--raised);border:1px solid var(--line);border-radius:8px;margin:.4rem 0;padding:.5rem .9rem;overflow-x:auto}
.method{display:inline-block;min-width:4.2rem;font-weight:700}
.get{color:light-dark(#17693a,#6fcf97)}.post{color:light-dark(#1f5aa8,#8ab8f5)}.patch,.put{color:light-dark(#8a5200,#f0b429)}.delete{color:light-dark(#b3261e,#ff8a80)}
table{border-collapse:collapse;width:100%}td{border-top:1px solid var(--line);padding:.3rem .5rem .3rem 0;vertical-align:top}th{text-align:left;padding:.3rem .5rem .3rem 0;color:var(--quiet);font-weight:600}
.operation td:first-child{width:34%}.operation td:nth-child(2){width:24%}pre{overflow-x:auto;background:var(--paper);border:1px solid var(--line);border-radius:6px;padding:.5rem .7rem}
@media(max-width:40rem){.operation table,.operation tbody,.operation tr,.operation td{display:block;width:auto!important}.operation thead{display:none}.operation td+td{border:0;padding-top:0}}
input{font:inherit;color:inherit;background:var(--raised);border:1px solid var(--line);border-radius:6px;min-height:36px;padding:.3rem .6rem;width:min(100%,24rem)}[hidden]{display:none}
`

export const referenceScript = `const filter = document.getElementById('filter')
filter.addEventListener('input', () => {
  const words = filter.value.toLowerCase().split(/\\s+/)
  for (const operation of document.querySelectorAll('.operation')) {
    const text = operation.textContent.toLowerCase()
    operation.hidden = !words.every((word) => text.includes(word))
  }
  for (const section of document.querySelectorAll('section')) section.hidden = !section.querySelector('.operation:not([hidden])')
})
`
